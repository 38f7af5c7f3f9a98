"""A connection over Streamable HTTP to a scripted server, and what it delivers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from scripted_web import Answer, Asked, Reply, ScriptedWeb, scripted

from doorward.core.errors import DoorwardError
from doorward.upstream.authorization import FixedToken
from doorward.upstream.config import ServerConfig
from doorward.upstream.http_client import HttpClient
from doorward.upstream.outbound import OutboundPolicy
from doorward.upstream.streamable_http import StreamableHttpConnection
from waiting import PATIENCE

OLD, NEW = "2025-11-25", "2026-07-28"
META = {"_meta": {"io.modelcontextprotocol/protocolVersion": NEW}}


class Ears:
    """Hears what a connection delivers, in order."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
        self.notes: list[str] = []

    def received(self, frame: bytes, answering: int | None = None) -> None:
        self.heard.put_nowait((json.loads(frame), answering))

    def unanswered(self, id: int, error: DoorwardError, *, again: bool = False) -> None:
        self.heard.put_nowait(("unanswered", id, error, again))

    def lost(self, error: DoorwardError, *, again: bool = False) -> None:
        self.heard.put_nowait(("lost", error, again))

    def noted(self, line: str) -> None:
        self.notes.append(line)

    async def next(self) -> Any:
        async with asyncio.timeout(PATIENCE):
            return await self.heard.get()


class Line:
    """A connection to a scripted server, and its result."""

    def __init__(self, server: ScriptedWeb, connection: StreamableHttpConnection, ears: Ears) -> None:
        self.server = server
        self.connection = connection
        self.ears = ears

    def send(self, method: str, id: int | None = None, params: Mapping[str, Any] | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        frame = json.dumps({**message, "id": id} if id is not None else message).encode()
        self.connection.send(frame, id=id, method=method, params=params)

    async def ask(self, method: str, id: int, params: Mapping[str, Any] | None = None) -> Any:
        self.send(method, id, params)
        return await self.ears.next()

    async def greet(self) -> None:
        """The handshake of the older era."""
        await self.ask("initialize", 1)
        self.connection.agreed(OLD)
        self.send("notifications/initialized")


@asynccontextmanager
async def line(answer: Answer, **config: Any) -> AsyncIterator[Line]:
    async with scripted(answer) as server:
        entry = ServerConfig(id="far", name="far", transport="http", url=f"{server.root}/mcp", **config)
        ears = Ears()
        connection = StreamableHttpConnection(entry, ears, HttpClient(OutboundPolicy(), entry.url), FixedToken("far"))
        try:
            yield Line(server, connection, ears)
        finally:
            await connection.close()


async def answers(asked: Asked, reply: Reply, **headers: str) -> None:
    """A server that has no stream of its own, and answers every request."""
    if asked.method == "POST" and "id" in asked.message:
        await reply.whole(200, {"jsonrpc": "2.0", "id": asked.message["id"], "result": {}}, **headers)
    else:
        await reply.whole(202 if asked.method == "POST" else 405)
