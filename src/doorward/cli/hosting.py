"""Embedded server: runs Doorward inside a client process when no server is running."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

from doorward.app import House, open_house
from doorward.cli.keeping import kept
from doorward.doors.mcp.door import McpDoor
from doorward.doors.mcp_stdio import hello
from doorward.doors.mcp_stdio.host import Host
from doorward.doors.mcp_stdio.relay import note
from doorward.home import Home, Lock, listen_private

_FOR_A_SERVER = 5.0
"""Seconds for calls to finish before handing the home folder over to a server that started."""
_FOR_THE_END = 1.0
"""The same when this process ends with its client. Clients do not wait long for that."""
HEAD_START = 0.5
"""Seconds for the first answers before background work starts."""


class Hosting:
    """Doorward running as a task of this process, until it ends or hands over to a server."""

    def __init__(self, home: Home, lock: Lock, stop: Callable[[], None], *, head_start: float = HEAD_START) -> None:
        """`stop` is called when a person asks Doorward to shut down."""
        self._home = home
        self._stop = stop
        self._lock = lock
        self._head_start = head_start
        self._leaving = asyncio.Event()
        self._patience = _FOR_A_SERVER
        self._host: asyncio.Future[Host] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._keep())

    @property
    def leaving(self) -> bool:
        return self._leaving.is_set()

    @property
    def over(self) -> bool:
        """Whether the embedded server has ended. Raises the error that stopped it, if any."""
        if self._task.done():
            self._task.result()
        return self._task.done()

    async def connection(self) -> socket.socket:
        """Return a connection for this process's own client. Raises the error that kept the server from starting."""
        either: list[asyncio.Future[Any]] = [self._host, self._task]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self._host.done():
            self._task.result()
        return self._host.result().own()

    async def end(self) -> None:
        """Stop, because the client of this process has ended."""
        self._patience = _FOR_THE_END
        self._leaving.set()
        await asyncio.wait([self._task])
        if self._host.done():  # if it never started, `connection` has raised the error already
            self._task.result()

    async def _keep(self) -> None:
        try:
            async with open_house(self._home, stop=self._stop) as house:
                _introduce(house)
                door = McpDoor(house.gate, house.services)
                host = Host(self._home, house.gate, house.services, door, self._leaving.set)
                async with host, kept(house, self._head_start), _terminals(self._home, house, self._head_start):
                    self._host.set_result(host)
                    await self._leaving.wait()
                    await host.leave(self._patience)
            if host.heir is not None:
                self._give(host.heir)
        finally:
            self._lock.release()

    def _give(self, heir: socket.socket) -> None:
        """Pass the lock's file descriptor on, so that no third process can take the lock in between."""
        with heir, contextlib.suppress(OSError):
            socket.send_fds(heir, [hello.line(hello.Welcome(os.getpid()))], [self._lock.descriptor])
            note("handed over to the server that has started.")


@contextlib.asynccontextmanager
async def _terminals(home: Home, house: House, head_start: float) -> AsyncIterator[None]:
    """Serve `doorward` commands on the owner's socket, as a server does."""
    stopping = asyncio.Event()
    task = asyncio.create_task(_answer_terminals(home, house, stopping, head_start))
    try:
        yield
    finally:
        stopping.set()
        await asyncio.wait([task])
        task.result()


def _import_server() -> tuple[Any, Any]:
    """Import the HTTP server. Runs in a thread, because the import is slow and must not block the event loop."""
    from doorward.doors.http import Server  # noqa: PLC0415
    from doorward.doors.serve import serve  # noqa: PLC0415

    return Server, serve


async def _answer_terminals(home: Home, house: House, stopping: asyncio.Event, head_start: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(head_start):
            await stopping.wait()
    if stopping.is_set():
        return
    server_type, serve = await asyncio.to_thread(_import_server)
    try:
        with contextlib.closing(listen_private(home.socket)) as private:
            server = server_type(house.gate, house.services)
            await serve(server, None, private, stopping, lambda: None)
    finally:
        home.socket.unlink(missing_ok=True)


def _introduce(house: House) -> None:
    if house.made:
        note("created the home folder:\n  " + "\n  ".join(house.made))
    if house.recovered:
        note(f"{house.recovered} calls were interrupted when Doorward last stopped; the ledger lists them.")
    for problem in house.services.recipes.problems.values():
        note(f"a recipe is not valid; its last valid version stays in force: {problem}")
