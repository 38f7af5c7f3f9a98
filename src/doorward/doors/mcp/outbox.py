"""Notifications that belong to no request: bounded, because a client may never read them."""

from __future__ import annotations

import asyncio

MOST = 256


class Outbox:
    """Frames by subject. A newer frame replaces the older one about the same subject."""

    def __init__(self) -> None:
        self._frames: dict[str, bytes] = {}
        self._more = asyncio.Event()
        self._closed = False

    def put(self, about: str, frame: bytes) -> None:
        self._frames.pop(about, None)
        self._frames[about] = frame
        if len(self._frames) > MOST:
            del self._frames[next(iter(self._frames))]
        self._more.set()

    def close(self) -> None:
        self._closed = True
        self._more.set()

    async def take(self, seconds: float) -> dict[str, bytes] | None:
        """All waiting frames as soon as there are any; empty after `seconds` without one; None once closed."""
        if not self._frames and not self._closed:
            self._more.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._more.wait()
            except TimeoutError:
                return {}
        if not self._frames and self._closed:
            return None
        taken, self._frames = self._frames, {}
        return taken
