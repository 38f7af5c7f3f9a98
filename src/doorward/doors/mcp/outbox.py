"""News for a client that belong to no request: bounded, since a client may never read them."""

from __future__ import annotations

import asyncio

MOST = 256


class Outbox:
    """Frames by what they are about. A newer one about the same thing replaces the older: news are not history."""

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
        """All that waits, as soon as there is anything; nothing after a while without; None once it is closed."""
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
