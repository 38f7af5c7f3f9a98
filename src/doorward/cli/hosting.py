"""Keeping the house in the process of one MCP client, for it and for everybody else who comes."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
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
"""Seconds in which calls may finish before a server that asked for the house gets it."""
_FOR_THE_END = 1.0
"""The same when this process ends, because its client did; clients do not wait for long."""
HEAD_START = 0.5
"""Seconds for the first answers, before this process gets busy with what can wait."""


class Hosting:
    """A house kept open as a task of its own, until it is asked to leave or to hand the house over."""

    def __init__(self, home: Home, lock: Lock, stop: Callable[[], None], *, head_start: float = HEAD_START) -> None:
        """`stop` is told when a person asks Doorward to shut down."""
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
        """Whether the house is kept no longer; an error that kept it from opening is raised."""
        if self._task.done():
            self._task.result()
        return self._task.done()

    async def connection(self) -> socket.socket:
        """A connection for the client of this process; an error that kept the house from opening is raised."""
        either: list[asyncio.Future[Any]] = [self._host, self._task]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self._host.done():
            self._task.result()
        return self._host.result().own()

    async def end(self) -> None:
        """Leave, since the client of this process did."""
        self._patience = _FOR_THE_END
        self._leaving.set()
        await asyncio.wait([self._task])
        if self._host.done():  # whoever waited for a house that never opened was told why
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
        """Hand over the lock itself, by its open file, so that no third process can come in between."""
        with heir, contextlib.suppress(OSError):
            socket.send_fds(heir, [hello.line(hello.Welcome(os.getpid()))], [self._lock.descriptor])
            note("handed the house over to the server that has started.")


@contextlib.asynccontextmanager
async def _terminals(home: Home, house: House, head_start: float) -> AsyncIterator[None]:
    """While this lasts, `doorward` commands are answered on their socket, as by a server."""
    stopping = asyncio.Event()
    task = asyncio.create_task(_answer_terminals(home, house, stopping, head_start))
    try:
        yield
    finally:
        stopping.set()
        await asyncio.wait([task])
        task.result()


async def _answer_terminals(home: Home, house: House, stopping: asyncio.Event, head_start: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(head_start):
            await stopping.wait()
    if stopping.is_set():
        return
    web = await asyncio.to_thread(importlib.import_module, "doorward.doors.http")
    answering = await asyncio.to_thread(importlib.import_module, "doorward.doors.serve")
    try:
        with contextlib.closing(listen_private(home.socket)) as private:
            server = web.Server(house.gate, house.services)
            await answering.serve(server, None, private, stopping, lambda: None)
    finally:
        home.socket.unlink(missing_ok=True)


def _introduce(house: House) -> None:
    if house.made:
        note("made a new home for Doorward:\n  " + "\n  ".join(house.made))
    if house.recovered:
        note(f"{house.recovered} calls were interrupted when Doorward last stopped; the ledger says which.")
    for problem in house.services.recipes.problems.values():
        note(f"a recipe is not valid, its last good version is in force: {problem}")
