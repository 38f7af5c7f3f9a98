"""The address of this home's server, to write down for clients that come over the network."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from doorward.doors.ports import near
from doorward.errors import DoorwardError
from doorward.home import Home
from doorward.settings import load

_PATIENCE = 1.0
"""Seconds in which a server that runs takes a connection."""
_LONGEST = 300


def running(home: Home) -> str:
    """Where the server that runs says it is, such as `http://127.0.0.1:8642`; empty when none answers there.

    One that was killed leaves its address behind, so the address is tried.
    """
    try:
        with open(home.address, encoding="ascii") as file:
            said = file.read(_LONGEST).strip()
        parts = urlsplit(said)
        if parts.scheme != "http" or parts.hostname is None or parts.port is None or parts.path:
            return ""
        socket.create_connection((parts.hostname, parts.port), _PATIENCE).close()
    except (OSError, ValueError):
        return ""
    return said


def configured(home: Home) -> str:
    """Where the settings put the server; empty when they let it take any free port."""
    server = load(home.settings).server
    host = near(server.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{server.port}" if server.port else ""


def either(home: Home) -> str:
    """The one or the other, where it only serves to recognise an entry; empty when neither is known."""
    try:
        return running(home) or configured(home)
    except DoorwardError:
        return ""
