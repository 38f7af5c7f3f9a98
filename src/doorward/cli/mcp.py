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

from doorward.cli.project import current_folder
from doorward.config.home import Home, HomeLock
from doorward.config.settings import find_home_folder
from doorward.core.errors import Unusable
from doorward.doors.mcp.stdio import handshake, streams
from doorward.doors.mcp.stdio.handshake import Hello
from doorward.doors.mcp.stdio.relay import Relay, print_note

if TYPE_CHECKING:
    from doorward.cli.embedded_server import EmbeddedServer

_DEFAULT_ROOM = "general"
_PATIENCE = 20.0
"""Seconds to wait for another process to release the home folder, or to serve from it."""
_POLL_SECONDS = 0.02


@click.command("mcp")
@click.option(
    "--room",
    default=None,
    help=f"Room to act in, under its recipe. By default, the room of this folder, or {_DEFAULT_ROOM}.",
)
@click.option("--as", "agent", default="", help="Name of the agent. By default, the client's own name or `agent`.")
@click.option(
    "--tools",
    type=click.Choice(["auto", "all", "search"]),
    default=None,
    help="List all tools, or only a few that search for the others. By default, as in the settings.",
)
def command(room: str | None, agent: str, tools: handshake.ToolsOption | None) -> None:
    """Run an MCP server on standard input and output. MCP clients start it; `doorward connect` sets that up.

    Several clients, a server (`doorward up`) and other commands can use one home folder at the same time.
    """
    if None in (sys.__stdin__, sys.__stdout__):
        raise Unusable("Standard input or output is closed, and MCP needs both; start this from an MCP client.")
    if os.isatty(0):
        print_note("this is meant to be started by an MCP client; `doorward connect` sets one up. Ctrl-D ends it.")
    folder = current_folder() if room is None else ""
    wanted = Hello(room=_DEFAULT_ROOM if room is None else room, folder=folder, speak_as=agent, tools=tools or "")
    asyncio.run(_serve(Home(find_home_folder()), wanted, *streams.take_stdio()))


async def _serve(home: Home, wanted: Hello, source: int, sink: int) -> None:
    stopping = asyncio.Event()
    way = McpTransport(home, stopping.set)
    relay = Relay(streams.StandardStreams(source, sink), wanted, way.open_connection, stopping)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopping.set)
    try:
        await relay.run()
    finally:
        await way.close()


class McpTransport:
    """Connects to the process that serves this home folder, or embeds the server here when there is none."""

    def __init__(self, home: Home, stop: Callable[[], None]) -> None:
        self._home = home
        self._stop = stop
        self._embedded: EmbeddedServer | None = None

    async def open_connection(self, wanted: Hello) -> socket.socket:
        """Return a connection after the hello. Raises Overloaded when another process holds the lock but is silent."""
        self._home.create()
        lock = HomeLock(self._home)
        deadline = time.monotonic() + _PATIENCE
        while True:
            if self._embedded is not None and self._embedded.is_stopping:
                await self._embedded.stop()
                self._embedded = None
            sock = await self._try_connect(lock)
            if sock is not None and await self._say_hello(sock, wanted):
                return sock
            if time.monotonic() > deadline:
                raise lock.busy_error()
            await asyncio.sleep(_POLL_SECONDS)

    async def close(self) -> None:
        if self._embedded is not None:
            await self._embedded.stop()

    async def _try_connect(self, lock: HomeLock) -> socket.socket | None:
        if self._embedded is None:
            sock = handshake.connect(self._home)
            if sock is not None or not lock.take():
                return sock
            from doorward.cli import embedded_server  # noqa: PLC0415 - slow to import

            self._embedded = embedded_server.EmbeddedServer(self._home, lock, self._stop)
        return await self._embedded.open_connection() if self._embedded is not None else None

    @staticmethod
    async def _say_hello(sock: socket.socket, wanted: Hello) -> bool:
        try:
            if await handshake.send_hello(sock, wanted):
                return True
        except BaseException:
            sock.close()
            raise
        sock.close()
        return False
