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

    async def take(self) -> list[bytes] | None:
        """All that waits, as soon as there is anything; None once it is closed."""
        while not self._frames:
            if self._closed:
                return None
            self._more.clear()
            await self._more.wait()
        taken = list(self._frames.values())
        self._frames.clear()
        return taken
