"""A guarded server, and a house that wants to be let in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from guarded_server import Guarded, visit
from scripted_web import scripted

from doorward.core.clock import Clock
from doorward.core.errors import DoorwardError
from doorward.upstream.config import ServerAuth, ServerConfig
from doorward.upstream.http_connector import HttpConnector
from doorward.upstream.oauth.token_store import StoredLogin, TokenFile
from doorward.upstream.outbound import OutboundPolicy
from waiting import PATIENCE

LOCAL = ("127.0.0.0/8",)


async def opens(page: str) -> None:
    assert await visit(page) == 200


class World:
    """A guarded server, and the home folder of a house that wants to be let in."""

    def __init__(self, guarded: Guarded, home: Path) -> None:
        self.guarded = guarded
        self.home = home

    def entry(self, auth: ServerAuth | None = None) -> ServerConfig:
        return ServerConfig(id="far", name="far", transport="http", url=f"{self.guarded.root}/mcp", auth=auth)

    def remote(self, **more: Any) -> HttpConnector:
        return HttpConnector(home=self.home, outbound=OutboundPolicy(LOCAL), clock=Clock(), **more)

    @property
    def file(self) -> TokenFile:
        return TokenFile(self.home, "far", f"{self.guarded.root}/mcp")

    def kept(self) -> StoredLogin:
        return self.file.read()

    async def call(self, auth: ServerAuth | None = None, **more: Any) -> Any:
        """One request over a new connection: the frame that answers it, or the error."""
        found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        connection = await self.remote(**more).connect(self.entry(auth), Once(found))
        try:
            connection.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', id=1, method="ping", params={})
            async with asyncio.timeout(PATIENCE):
                return await found
        finally:
            await connection.close()


class Once:
    """Hears how one request ended."""

    def __init__(self, found: asyncio.Future[Any]) -> None:
        self._found = found

    def received(self, frame: bytes, answering: int | None = None) -> None:
        self._found.set_result(json.loads(frame))

    def unanswered(self, id: int, error: DoorwardError, *, again: bool = False) -> None:
        self._found.set_exception(error)

    def lost(self, error: DoorwardError, *, again: bool = False) -> None:
        raise AssertionError(error)

    def noted(self, line: str) -> None:
        assert "access-" not in line
        assert "refresh-" not in line


@asynccontextmanager
async def world(home: Path) -> AsyncIterator[World]:
    guarded = Guarded()
    async with scripted(guarded) as server:
        guarded.root = server.root
        yield World(guarded, home)
