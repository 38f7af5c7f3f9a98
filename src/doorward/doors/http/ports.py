"""TCP listeners, and a clear error when a port is in use."""

from __future__ import annotations

import contextlib
import errno
import http.client
import os
import socket
from pathlib import Path
from typing import NamedTuple

from doorward.core import strictjson
from doorward.core.errors import Unusable
from doorward.core.escape_invisible import escape_invisible

_HEALTH_TIMEOUT = 1.0
"""Seconds to wait for the process on a port to say whether it is Doorward."""
_BACKLOG = 2_048
_MAX_UNSENT = 65_536
"""Unsent bytes that the kernel takes for each connection, so that unread answers soon stop further work."""


class PortHolder(NamedTuple):
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
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _MAX_UNSENT)
        sock.bind((host, port))
        sock.listen(_BACKLOG)
        return sock
    except (OSError, OverflowError) as error:
        if sock is not None:
            sock.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise _port_in_use(host, port, another) from error
        why = getattr(error, "strerror", None) or error
        raise Unusable(
            f"Cannot listen on {host}:{port}: {why}.", hint="Choose another address with --host and --port."
        ) from error


def reachable_host(host: str) -> str:
    """The address at which this machine reaches a listener, also one on a wildcard address."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104


def find_port_holder(port: int) -> PortHolder:
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
                return PortHolder(int(process), Path(f"/proc/{process}/comm").read_text().strip())
    return PortHolder(0, "")


def _port_in_use(host: str, port: int, another: str) -> Unusable:
    holder = find_port_holder(port)
    free = f"{another} {port + 1 if port < 65_535 else 0}"
    version = _doorward_version(host, port)
    if not version:
        return Unusable(f"Port {port} on {host} is in use by {holder}.", hint=f"Stop it, or use another port: {free}")
    home = _read_home(holder)
    reach = f"It answers at {_url(reachable_host(host), port)}."
    reach += f" To use it from the terminal: DOORWARD_HOME={home} doorward status." if home else ""
    return Unusable(
        f"Port {port} on {host} is in use by {holder}, which is another Doorward ({version}).",
        hint=f"{reach} Stop it, or use another port: {free}",
    )


def _doorward_version(host: str, port: int) -> str:
    """The version of the Doorward on a port, or "" when another program has it or does not answer."""
    connection = http.client.HTTPConnection(reachable_host(host), port, timeout=_HEALTH_TIMEOUT)
    try:
        connection.request("GET", "/health")
        return parse_health_version(connection.getresponse().read(10_000))
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()


def parse_health_version(health: bytes) -> str:
    """The version in a `/health` response, or "" when it is not Doorward's."""
    try:
        told = strictjson.loads(health)
    except strictjson.NotJson:
        return ""
    ours = isinstance(told, dict) and {"status", "version", "problems"} <= told.keys()
    return escape_invisible(str(told["version"]))[:40] if ours else ""


def _read_home(holder: PortHolder) -> str:
    """The DOORWARD_HOME of a process, if this account may see it; else ""."""
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{holder.process}/environ").read_bytes().split(b"\0"):
            if entry.startswith(b"DOORWARD_HOME="):
                return os.fsdecode(entry.partition(b"=")[2])
    return ""


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
