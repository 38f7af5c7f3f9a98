"""Somebody who follows a room over REST, without a socket in between."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any


class Follower:
    """Reads the stream of one room; while `held`, it takes nothing."""

    def __init__(self) -> None:
        self.status = 0
        self.events: list[tuple[str, str, Any]] = []
        """Name, id and data of each event, in order."""
        self.body = b""
        self.held = asyncio.Event()
        self.held.set()
        self.left = asyncio.Event()
        self.ended = asyncio.Event()
        self._more = asyncio.Event()
        self._read = b""

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.status = message.get("status", self.status)
        self._take(message.get("body", b""))
        self._more.set()
        if message["type"] == "http.response.body":
            await self.held.wait()

    def _take(self, piece: bytes) -> None:
        self.body += piece
        self._read += piece
        while b"\n\n" in self._read:
            frame, _, self._read = self._read.partition(b"\n\n")
            fields = dict(line.split(": ", 1) for line in frame.decode().split("\n") if not line.startswith(":"))
            if fields:
                self.events.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))

    async def until(self, name: str, count: int = 1) -> list[Any]:
        """The data of the first `count` events of that name, as soon as they are there."""
        while len(found := [data for event, _, data in self.events if event == name]) < count:
            assert not self.ended.is_set(), self.body
            self._more.clear()
            await self._more.wait()
        return found[:count]

    @property
    def texts(self) -> list[str]:
        return [data["text"] for event, _, data in self.events if event == "message"]


@contextlib.asynccontextmanager
async def following(rest: Any, client: Any, room: str = "general", since: str = "") -> AsyncIterator[Follower]:
    """A follower of a room, by the token of a client of the same door."""
    follower = Follower()
    path = f"/api/rooms/{room}/stream"
    headers = [(b"host", b"127.0.0.1"), (b"authorization", client.headers["authorization"].encode())]
    if since:
        headers.append((b"last-event-id", since.encode()))
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": None,
        "root_path": "",
        "scheme": "http",
    }
    task = asyncio.ensure_future(rest.app(scope, follower.receive, follower.send))
    task.add_done_callback(lambda _: (follower.ended.set(), follower._more.set()))
    try:
        yield follower
    finally:
        follower.held.set()
        follower.left.set()
        await task
