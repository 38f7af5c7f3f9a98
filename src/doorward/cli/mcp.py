"""`doorward mcp`: an MCP server on standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from doorward.doors.mcp_stdio import hello, streams
from doorward.doors.mcp_stdio.hello import Hello
from doorward.doors.mcp_stdio.relay import Relay, note
from doorward.errors import Unusable
from doorward.home import Home, Lock
from doorward.settings import home_folder

if TYPE_CHECKING:
    from doorward.cli.hosting import Hosting

_PATIENCE = 20.0
"""Seconds to wait for another process to release the home folder, or to serve from it."""
_PAUSE = 0.02


@click.command("mcp")
@click.option("--room", default="general", show_default=True, help="Room to act in, under its recipe.")
@click.option("--as", "agent", default="", help="Name of the agent. By default, the client's own name or `agent`.")
@click.option(
    "--tools",
    type=click.Choice(["auto", "all", "search"]),
    default=None,
    help="List all tools, or only a few that search for the others. By default, as in the settings.",
)
def command(room: str, agent: str, tools: hello.Tools | None) -> None:
    """Run an MCP server on standard input and output. MCP clients start it; `doorward connect` sets that up.

    Several clients, a server (`doorward up`) and other commands can use one home folder at the same time.
    """
    if None in (sys.__stdin__, sys.__stdout__):
        raise Unusable("Standard input or output is closed, and MCP needs both; start this from an MCP client.")
    if os.isatty(0):
        note("this is meant to be started by an MCP client; `doorward connect` sets one up. Ctrl-D ends it.")
    wanted = Hello(room=room, speak_as=agent, tools=tools or "")
    asyncio.run(_serve(Home(home_folder()), wanted, *streams.taken()))


async def _serve(home: Home, wanted: Hello, source: int, sink: int) -> None:
    stopping = asyncio.Event()
    way = Way(home, stopping.set)
    relay = Relay(streams.Streams(source, sink), wanted, way.reach, stopping)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopping.set)
    try:
        await relay.run()
    finally:
        await way.end()


class Way:
    """Connects to the process that serves this home folder, or embeds the server here when there is none."""

    def __init__(self, home: Home, stop: Callable[[], None]) -> None:
        self._home = home
        self._stop = stop
        self._hosting: Hosting | None = None

    async def reach(self, wanted: Hello) -> socket.socket:
        """Return a connection after the hello. Raises Overloaded when another process holds the lock but is silent."""
        self._home.make()
        lock = Lock(self._home)
        deadline = time.monotonic() + _PATIENCE
        while True:
            if self._hosting is not None and self._hosting.leaving:
                await self._hosting.end()
                self._hosting = None
            sock = await self._connection(lock)
            if sock is not None and await self._welcome(sock, wanted):
                return sock
            if time.monotonic() > deadline:
                raise lock.busy()
            await asyncio.sleep(_PAUSE)

    async def end(self) -> None:
        if self._hosting is not None:
            await self._hosting.end()

    async def _connection(self, lock: Lock) -> socket.socket | None:
        if self._hosting is None:
            sock = hello.connect(self._home)
            if sock is not None or not lock.take():
                return sock
            from doorward.cli import hosting  # noqa: PLC0415 - slow to import

            self._hosting = hosting.Hosting(self._home, lock, self._stop)
        return await self._hosting.connection() if self._hosting is not None else None

    @staticmethod
    async def _welcome(sock: socket.socket, wanted: Hello) -> bool:
        try:
            if await hello.greet(sock, wanted):
                return True
        except BaseException:
            sock.close()
            raise
        sock.close()
        return False
