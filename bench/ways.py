"""The same call by every way in: at the gate itself, over HTTP as MCP in both eras, and through the line door."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from bench.mcp_requests import NEW, OLD, message
from bench.scratch import ROOM
from doorward.app import House
from doorward.core.model import Credential, Request
from doorward.doors.http.applications import HttpApplications
from doorward.doors.line.door import open_line_door

_CALL = "tools/call"
_TOOL = "bench_read"


class Http:
    """MCP clients, without the sockets between: each request is made and answered in this process."""

    def __init__(self, server: HttpApplications, token: str) -> None:
        self._app = server.public
        self._token = token
        self._session = b""

    async def call(self, number: int) -> None:
        """By turns in the era without sessions and in that with them, and now and then in a new session."""
        if number % 2:
            await self._ask(NEW, message(NEW, _CALL, name=_TOOL, arguments={"number": number}))
            return
        if not self._session or number % 1_000 == 0:
            client = {"name": "bench", "version": "1"}
            hello = message(OLD, "initialize", protocolVersion=OLD, capabilities={}, clientInfo=client)
            self._session = dict(await self._ask(OLD, hello))[b"mcp-session-id"]
        body = message(OLD, _CALL, number, name=_TOOL, arguments={"number": number})
        await self._ask(OLD, body, (b"mcp-session-id", self._session))

    async def _ask(self, version: str, body: bytes, *more: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": f"/mcp/{ROOM}",
            "raw_path": f"/mcp/{ROOM}".encode(),
            "query_string": b"",
            "root_path": "",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8642),
            "headers": [*self._headers(version, len(body)), *more],
        }
        sent: list[Any] = []
        pieces = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            for piece in pieces:
                return piece
            return await asyncio.Event().wait()  # it never hangs up

        async def send(piece: Any) -> None:
            sent.append(piece)

        await self._app(scope, receive, send)
        if sent[0]["status"] != 200:
            raise RuntimeError(f"/mcp was to be measured, but it answered {sent}")
        return list(sent[0]["headers"])

    def _headers(self, version: str, length: int) -> list[tuple[bytes, bytes]]:
        given = [
            (b"host", b"127.0.0.1:8642"),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % length),
            (b"accept", b"application/json, text/event-stream"),
            (b"authorization", f"Bearer {self._token}".encode()),
            (b"mcp-protocol-version", version.encode()),
        ]
        return given + ([(b"mcp-method", _CALL.encode()), (b"mcp-name", _TOOL.encode())] if version == NEW else [])


class Line:
    """One client of the line door."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def call(self, number: int) -> None:
        asked = {"id": number, "method": "call_tool", "params": {"tool": _TOOL, "args": {"number": number}}}
        self._writer.write(json.dumps(asked).encode() + b"\n")
        answer = await self._reader.readline()
        if b'"response"' not in answer:
            raise RuntimeError(f"the line door was to be measured, but it answered {answer[:500]!r}")


@contextlib.asynccontextmanager
async def line_clients(house: House, count: int) -> AsyncIterator[list[Line]]:
    """So many clients of the line door, each with a connection of its own."""
    async with open_line_door(house.gate, house.services) as (host, port):
        streams = [await asyncio.open_connection(host, port) for _ in range(count)]
        try:
            yield [Line(*both) for both in streams]
        finally:
            for _, writer in streams:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()


async def token(house: House) -> str:
    """A token for an agent in the first room."""
    request = Request("token/create", Credential(owner=True), "bench", params={"name": "agent", "rooms": [ROOM]})
    made = await house.gate.handle(request)
    return str(made.result["token"])
