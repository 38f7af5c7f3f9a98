"""TCP listeners, and a clear error when a port is in use."""

from __future__ import annotations

import contextlib
import errno
import http.client
import os
import socket
from pathlib import Path
from typing import NamedTuple

from doorward import strictjson
from doorward.errors import Unusable
from doorward.visible import visible

_PATIENCE = 1.0
"""Seconds to wait for the process on a port to say whether it is Doorward."""
_BACKLOG = 2_048


class Holder(NamedTuple):
    """The process that uses a port. `process` is 0 when this account cannot see it."""

    process: int
    name: str

    def __str__(self) -> str:
        return f"process {self.process} ({self.name})" if self.process else "another process"


def listen(host: str, port: int, another: str = "doorward up --port") -> socket.socket:
    """Listen on a TCP address. `another` is the hint for choosing another port; the number is appended."""
    sock = None
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # asyncio disables Nagle's algorithm only when the protocol is named; otherwise answers wait 40 ms.
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(_BACKLOG)
        return sock
    except (OSError, OverflowError) as error:
        if sock is not None:
            sock.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise _in_use(host, port, another) from error
        raise Unusable(
            f"Cannot listen on {host}:{port}: {error}.", hint="Choose another address with --host and --port."
        ) from error


def near(host: str) -> str:
    """The address at which this machine reaches a listener, also one on a wildcard address."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104


def who_listens(port: int) -> Holder:
    """The process that listens on a TCP port, as far as this account can see."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{fields[9]}]")
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(descriptor) in inodes:
                process = descriptor.parts[2]
                return Holder(int(process), Path(f"/proc/{process}/comm").read_text().strip())
    return Holder(0, "")


def _in_use(host: str, port: int, another: str) -> Unusable:
    holder = who_listens(port)
    free = f"{another} {port + 1 if port < 65_535 else 0}"
    version = _doorward_there(host, port)
    if not version:
        return Unusable(f"Port {port} on {host} is in use by {holder}.", hint=f"Stop it, or use another port: {free}")
    home = _home_of(holder)
    reach = f"It answers at {_url(near(host), port)}."
    reach += f" To use it from the terminal: DOORWARD_HOME={home} doorward status." if home else ""
    return Unusable(
        f"Port {port} on {host} is in use by {holder}, which is another Doorward ({version}).",
        hint=f"{reach} Stop it, or use another port: {free}",
    )


def _doorward_there(host: str, port: int) -> str:
    """The version of the Doorward on a port, or "" when another program has it or does not answer."""
    connection = http.client.HTTPConnection(near(host), port, timeout=_PATIENCE)
    try:
        connection.request("GET", "/health")
        return version_in(connection.getresponse().read(10_000))
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()


def version_in(health: bytes) -> str:
    """The version in a `/health` response, or "" when it is not Doorward's."""
    try:
        told = strictjson.loads(health)
    except strictjson.NotJson:
        return ""
    ours = isinstance(told, dict) and {"status", "version", "problems"} <= told.keys()
    return visible(str(told["version"]))[:40] if ours else ""


def _home_of(holder: Holder) -> str:
    """The DOORWARD_HOME of a process, if this account may see it; else ""."""
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{holder.process}/environ").read_bytes().split(b"\0"):
            if entry.startswith(b"DOORWARD_HOME="):
                return os.fsdecode(entry.partition(b"=")[2])
    return ""


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
