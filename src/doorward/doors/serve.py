"""Listening: one public address, one socket in the home folder, and an end in good order."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from doorward.doors.http import Server
from doorward.errors import Unusable
from doorward.home import short_path

_PATIENCE = 5
"""Seconds that open connections are given at the end."""


class _Listener(uvicorn.Server):
    """A server that leaves signals to us, since two of them share this process, and says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    server: Server, public: socket.socket, private: socket.socket, stopping: asyncio.Event, ready: Callable[[], None]
) -> None:
    """Answer on both sockets until `stopping` is set or a signal asks for the end."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    listeners = [_listener(server.public), _listener(server.private)]
    async with asyncio.TaskGroup() as tasks:
        for listener, sock in zip(listeners, (public, private), strict=True):
            tasks.create_task(listener.serve(sockets=[sock]))
        for listener in listeners:
            await listener.up.wait()
        ready()
        await stopping.wait()
        for listener in listeners:
            listener.should_exit = True


def _listener(app: Starlette) -> _Listener:
    return _Listener(
        uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_PATIENCE,
        )
    )


def listen_public(host: str, port: int) -> socket.socket:
    """The public address, or an error that says who has it."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(1024)
        return sock
    except (OSError, OverflowError) as error:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise Unusable(
                f"Port {port} on {host} is in use by {_who_listens(port)}.",
                hint=f"Stop it, or take another port: doorward up --port {port + 1}",
            ) from error
        raise Unusable(
            f"Cannot listen on {host}:{port}: {error}.", hint="Choose another with --host and --port."
        ) from error


def listen_private(path: Path) -> socket.socket:
    """The owner's socket. The caller holds the home's lock, so a file in its place is a dead server's."""
    path.unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        with short_path(path) as address:
            sock.bind(address)
        sock.listen(128)
        return sock
    except OSError as error:
        raise Unusable(f"The socket {path} cannot be made: {error.strerror}.") from error
    finally:
        os.umask(before)


def _who_listens(port: int) -> str:
    """The process that has a TCP port, as far as this account may see."""
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
                name = Path(f"/proc/{process}/comm").read_text().strip()
                return f"process {process} ({name})"
    return "another process"
