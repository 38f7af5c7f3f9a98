"""Servers that misbehave, each a real process in the real sandbox, and a healthy one beside them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from doorward.config.settings import Settings
from doorward.core.clock import Clock
from doorward.sandbox import view
from doorward.sandbox.sandbox import Sandbox
from doorward.upstream.config import ServerConfig, ServerSandbox
from doorward.upstream.server import ServerClient
from doorward.upstream.stdio import make_connector
from waiting import PATIENCE

SCRIPT = Path(__file__).with_name("fault_server.py")


def config(id: str, *flags: str, write: tuple[str, ...] = (), **more: Any) -> ServerConfig:
    """The fault server with these flags, as a file of servers would have it."""
    python, _ = view.find_python()
    surroundings = ServerSandbox(read=(str(SCRIPT),), write=write)
    args = ("-I", "-S", str(SCRIPT), *flags)
    return ServerConfig(
        id=id, name=id, command=python, args=args, sandbox=surroundings, **{"start_seconds": PATIENCE, **more}
    )


class Yard:
    """Starts servers, and ends them all."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.sandbox = Sandbox(self.home, Settings())
        self._servers: list[ServerClient] = []
        self._changed = asyncio.Event()

    def server(self, *flags: str, id: str = "faulty", started: bool = True, **more: Any) -> ServerClient:
        return self.made(config(id, *flags, **more), started=started)

    def made(self, config: ServerConfig, *, started: bool = True, **more: Any) -> ServerClient:
        connect = make_connector(self.sandbox, self.home / "servers", grace=0.2)
        server = ServerClient(config, connect, Clock(), lambda _: self._changed.set(), **more)
        self._servers.append(server)
        if started:
            server.start()
        return server

    async def until(self, what: Callable[[], bool]) -> None:
        """Wait until something about a server is so; whenever one changes, it is looked at again."""
        async with asyncio.timeout(PATIENCE):
            while not what():
                self._changed.clear()
                await self._changed.wait()

    async def running(self) -> None:
        """Wait until a process of these servers is there, which nothing tells of."""
        async with asyncio.timeout(PATIENCE):
            while not await asyncio.to_thread(self.processes):
                pass

    def processes(self) -> list[str]:
        """What runs of these servers: they, and what they start, have the folder of this test in their environment."""
        mark, found = str(self.home / "servers").encode(), []
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                with contextlib.suppress(OSError):
                    if mark in (process / "environ").read_bytes():
                        found.append(process.name)
        return found

    async def close(self) -> None:
        await asyncio.gather(*(server.stop() for server in self._servers))
        await self.sandbox.close()


@contextlib.asynccontextmanager
async def yard(folder: Path) -> AsyncIterator[Yard]:
    made = Yard(folder)
    try:
        yield made
    finally:
        await made.close()


async def echo(server: ServerClient, text: str = "hello", within: float = PATIENCE) -> str:
    """What it says when it is told to say something."""
    result = await server.call("echo", {"text": text}, None, within)
    return str(result.content[0]["text"])
