"""The URL of this home's server, for MCP clients that connect over HTTP."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from doorward.doors.ports import near
from doorward.errors import DoorwardError
from doorward.home import Home
from doorward.settings import load

_PATIENCE = 1.0
"""Seconds to wait for a connection to the server."""
_LONGEST = 300


def running(home: Home) -> str:
    """Return the URL of the running server, such as `http://127.0.0.1:8642`, or an empty string.

    A killed server leaves its address file behind, so the address is tested.
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
    """Return the server's URL from the settings; empty when they allow any free port."""
    server = load(home.settings).server
    host = near(server.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{server.port}" if server.port else ""


def either(home: Home) -> str:
    """Return the running or the configured URL, to recognise our own entries; empty when neither is known."""
    try:
        return running(home) or configured(home)
    except DoorwardError:
        return ""
