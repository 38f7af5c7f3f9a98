"""A timer that an event can cut short."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    def cancel(self) -> None: ...


SetTimer = Callable[[float, Callable[[], None]], Timer]
"""Sets a timer, as `loop.call_later` does. Tests pass one that they control."""


class Alarm:
    def __init__(self, set_timer: SetTimer | None) -> None:
        self._set_timer = set_timer
        self._news = asyncio.Event()

    def ring(self) -> None:
        """Wake up the task that waits."""
        self._news.set()

    def forget(self) -> None:
        """Discard a pending ring."""
        self._news.clear()

    async def nap(self, seconds: float, *, news: bool = True) -> bool:
        """Wait for the time to pass or, with `news`, for a ring. Return whether the time has passed."""
        up = asyncio.Event()
        over = self._news if news else up

        def ring() -> None:
            up.set()
            over.set()

        timer = (self._set_timer or asyncio.get_running_loop().call_later)(seconds, ring)
        try:
            await over.wait()
        finally:
            timer.cancel()
        if news:
            self._news.clear()
        return up.is_set()
