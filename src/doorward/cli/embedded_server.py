"""Embedded server: runs Doorward inside a client process when no server is running."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

from doorward.app import House, open_house
from doorward.cli.background_tasks import run_background_tasks
from doorward.config.home import Home, HomeLock, bind_private_socket
from doorward.doors.mcp.door import McpDoor
from doorward.doors.mcp.stdio import handshake
from doorward.doors.mcp.stdio.host import StdioHost
from doorward.doors.mcp.stdio.relay import print_note

_HANDOVER_SECONDS = 5.0
"""Seconds for calls to finish before handing the home folder over to a server that started."""
_EXIT_SECONDS = 1.0
"""The same when this process ends with its client. Clients do not wait long for that."""
HEAD_START = 0.5
"""Seconds for the first answers before background work starts."""


class EmbeddedServer:
    """Doorward running as a task of this process, until it ends or hands over to a server."""

    def __init__(self, home: Home, lock: HomeLock, stop: Callable[[], None], *, head_start: float = HEAD_START) -> None:
        """`stop` is called when a person asks Doorward to shut down."""
        self._home = home
        self._on_shutdown = stop
        self._lock = lock
        self._head_start = head_start
        self._stopping = asyncio.Event()
        self._drain_seconds = _HANDOVER_SECONDS
        self._host: asyncio.Future[StdioHost] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._serve())

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def has_ended(self) -> bool:
        """Whether the embedded server has ended. Raises the error that stopped it, if any."""
        if self._task.done():
            self._task.result()
        return self._task.done()

    async def open_connection(self) -> socket.socket:
        """Return a connection for this process's own client. Raises the error that kept the server from starting."""
        either: list[asyncio.Future[Any]] = [self._host, self._task]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self._host.done():
            self._task.result()
        return self._host.result().connect_local()

    async def stop(self) -> None:
        """Stop, because the client of this process has ended."""
        self._drain_seconds = _EXIT_SECONDS
        self._stopping.set()
        await asyncio.wait([self._task])
        if self._host.done():  # if it never started, `connection` has raised the error already
            self._task.result()

    async def _serve(self) -> None:
        try:
            async with open_house(self._home, stop=self._on_shutdown) as house:
                _print_startup_notes(house)
                door = McpDoor(house.gate, house.services)
                host = StdioHost(self._home, house.gate, house.services, door, self._stopping.set)
                async with (
                    host,
                    run_background_tasks(house, self._head_start),
                    _serve_terminals(self._home, house, self._head_start),
                ):
                    self._host.set_result(host)
                    await self._stopping.wait()
                    await host.shut_down(self._drain_seconds)
            if host.successor is not None:
                self._hand_over(host.successor)
        finally:
            self._lock.release()

    def _hand_over(self, heir: socket.socket) -> None:
        """Pass the lock's file descriptor on, so that no third process can take the lock in between."""
        with heir, contextlib.suppress(OSError):
            socket.send_fds(heir, [handshake.encode_line(handshake.Welcome(os.getpid()))], [self._lock.descriptor])
            print_note("handed over to the server that has started.")


@contextlib.asynccontextmanager
async def _serve_terminals(home: Home, house: House, head_start: float) -> AsyncIterator[None]:
    """Serve `doorward` commands on the owner's socket, as a server does."""
    stopping = asyncio.Event()
    task = asyncio.create_task(_run_terminal_server(home, house, stopping, head_start))
    try:
        yield
    finally:
        stopping.set()
        await asyncio.wait([task])
        task.result()


def _import_server() -> tuple[Any, Any]:
    """Import the HTTP server. Runs in a thread, because the import is slow and must not block the event loop."""
    from doorward.doors.http.applications import HttpApplications  # noqa: PLC0415
    from doorward.doors.http.server import serve  # noqa: PLC0415

    return HttpApplications, serve


async def _run_terminal_server(home: Home, house: House, stopping: asyncio.Event, head_start: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(head_start):
            await stopping.wait()
    if stopping.is_set():
        return
    server_type, serve = await asyncio.to_thread(_import_server)
    try:
        with contextlib.closing(bind_private_socket(home.socket)) as private:
            server = server_type(house.gate, house.services)
            await serve(server, None, private, stopping, lambda: None)
    finally:
        home.socket.unlink(missing_ok=True)


def _print_startup_notes(house: House) -> None:
    if house.setup_lines:
        print_note("created the home folder:\n  " + "\n  ".join(house.setup_lines))
    if house.recovered:
        print_note(f"{house.recovered} calls were interrupted when Doorward last stopped; the ledger lists them.")
    for problem in house.services.recipes.problems.values():
        print_note(f"a recipe is not valid; its last valid version stays in force: {problem}")
