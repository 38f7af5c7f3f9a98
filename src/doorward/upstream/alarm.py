"""Waiting for a time or for news, whichever comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    def cancel(self) -> None: ...


SetTimer = Callable[[float, Callable[[], None]], Timer]
"""Sets a timer, as `loop.call_later` does; tests have one that rings when they say so."""


class Alarm:
    def __init__(self, set_timer: SetTimer | None) -> None:
        self._set_timer = set_timer
        self._news = asyncio.Event()

    def ring(self) -> None:
        """There is news."""
        self._news.set()

    def forget(self) -> None:
        """Whatever news there was is old."""
        self._news.clear()

    async def nap(self, seconds: float, *, news: bool = True) -> bool:
        """Wait for so long or, with `news`, until there is any; whether the time is up."""
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
