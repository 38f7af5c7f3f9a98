"""Turns of a sub-agent's requests: a few work at once, by priority and age, and none begins while it is paused."""

from __future__ import annotations

import asyncio
import heapq

Rank = tuple[int, float, str]
"""The place of a request in the queue: its priority (0 is the highest), when it was made, and its id."""


class Turns:
    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._paused = False
        self._waiting: list[tuple[Rank, asyncio.Future[None]]] = []

    @property
    def paused(self) -> bool:
        return self._paused

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._grant()

    async def take(self, rank: Rank) -> None:
        """Wait for a turn. The best rank among those that wait gets the next one."""
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (rank, granted))
        self._grant()
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # granted in the same moment
                self.release()
            raise

    def release(self) -> None:
        self._free += 1
        self._grant()

    def _grant(self) -> None:
        while self._waiting and (self._waiting[0][1].done() or (self._free and not self._paused)):
            _, granted = heapq.heappop(self._waiting)
            if not granted.done():
                self._free -= 1
                granted.set_result(None)
