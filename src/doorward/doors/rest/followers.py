"""Fan-out of events to many streams: each event is encoded once, and queued for each follower within bounds.

Many clients follow the same room, so the work for each client must be small.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from doorward.doors.rest.sse import with_head

T = TypeVar("T")

_KEPT = 200
_encode = msgspec.json.Encoder().encode


class Frame(NamedTuple):
    """One event with encoded data. A stream may send it under another name and id."""

    name: str
    id: str
    data: bytes

    @classmethod
    def of(cls, name: str, data: Any, id: str = "") -> Frame:
        return cls(name, id, _encode(data))

    def written(self) -> bytes:
        return with_head(self.name, self.id, self.data)


class Shared(Generic[T]):
    """Cache of encoded events: each is encoded once for all followers."""

    def __init__(self, write: Callable[[T], Frame]) -> None:
        self._write = write
        self._frames: OrderedDict[int, tuple[T, Frame]] = OrderedDict()

    def of(self, one: T) -> Frame:
        found = self._frames.get(id(one))
        if found is not None and found[0] is one:
            return found[1]
        frame = self._write(one)
        self._frames[id(one)] = (one, frame)
        if len(self._frames) > _KEPT:
            self._frames.popitem(last=False)
        return frame


class Waiting(Generic[T]):
    """The bounded queue of one follower, so that a slow reader cannot use up memory."""

    def __init__(self, most: int, replaces: Callable[[T, T], bool] | None = None) -> None:
        """`replaces` tells whether a new item makes the one before it obsolete."""
        self._most = most
        self._replaces = replaces
        self._kept: list[T] = []
        self._loop = asyncio.get_running_loop()
        self._due = False
        self._woken: asyncio.Future[None] | None = None
        self._soon: asyncio.TimerHandle | None = None
        self.overflowed = False

    def put(self, one: T, within: float = 0.0) -> None:
        """Add an item. It may wait up to `within` seconds to be sent together with others."""
        if self._replaces is not None and self._kept and self._replaces(one, self._kept[-1]):
            self._kept[-1] = one
        elif len(self._kept) >= self._most:
            self.overflowed = True
        else:
            self._kept.append(one)
        if not within or self.overflowed:
            self._wake()
        elif self._soon is None and not self._due:
            self._soon = self._loop.call_later(within, self._wake)

    async def take(self, seconds: float) -> list[T]:
        """The queued items, as soon as they are due, and at the latest after `seconds`."""
        if not self._due:
            self._woken = self._loop.create_future()
            timer = self._loop.call_later(seconds, self._wake)
            try:
                await self._woken
            finally:
                timer.cancel()
                self._woken = None
        self._due = False
        self._forget_timer()
        taken, self._kept = self._kept, []
        return taken

    def close(self) -> None:
        """Stop the timer when the follower leaves."""
        self._forget_timer()

    def _wake(self) -> None:
        self._due = True
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def _forget_timer(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
