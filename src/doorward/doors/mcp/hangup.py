"""Disconnects: cancels a request when its client disconnects, and lets the call store its record."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from starlette.types import Receive

AFTER = 0.1
"""Seconds, or up to twice as many, before a request is watched for a disconnect. Most requests end earlier, and cost no
task."""


class Waiting:
    """The requests of one endpoint that are not watched yet. They share one timer, to keep each request cheap."""

    def __init__(self) -> None:
        self._new: set[Hangup] = set()
        self._older: set[Hangup] = set()
        self._armed = False

    def add(self, one: Hangup) -> None:
        self._new.add(one)
        if not self._armed:
            self._armed = True
            asyncio.get_running_loop().call_later(AFTER, self._look)

    def remove(self, one: Hangup) -> None:
        self._new.discard(one)
        self._older.discard(one)

    def _look(self) -> None:
        for one in self._older:
            one.listen()
        self._older, self._new = self._new, set()
        self._armed = bool(self._older)
        if self._armed:
            asyncio.get_running_loop().call_later(AFTER, self._look)


class Hangup:
    """Cancels the task of a request when the client disconnects, and clears that cancellation at the end."""

    __slots__ = ("_carrier", "_listening", "_over", "_receive", "_waiting", "left")

    def __init__(self, receive: Receive, waiting: Waiting, carrier: asyncio.Task[Any]) -> None:
        self._carrier = carrier
        self._receive = receive
        self._over = False
        self._listening: asyncio.Task[None] | None = None
        self._waiting = waiting
        self.left = False

    def __enter__(self) -> Hangup:
        self._waiting.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._over = True
        self._waiting.remove(self)
        if self._listening is not None:
            self._listening.cancel()
        if self.left:
            self._carrier.uncancel()
            return isinstance(error, asyncio.CancelledError)
        return False

    def listen(self) -> None:
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._over:
            self.left = True
            self._carrier.cancel()
