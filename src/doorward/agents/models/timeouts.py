"""The idle timeout of one answer, and the cooldown of a rate-limited model."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable


class IdleTimeout:
    """The idle timeout of one answer."""

    def __init__(self) -> None:
        self._limit: asyncio.Timeout | None = None
        self._wait = self._end = 0.0

    def start(self, wait: float, end: float) -> asyncio.Timeout:
        """Return the timeout for the next piece: `wait` seconds after the last sign of life, and never after `end`."""
        self._wait, self._end = wait, end
        self._limit = asyncio.timeout_at(self._deadline())
        return self._limit

    def extend(self) -> None:
        with contextlib.suppress(RuntimeError):  # no piece is awaited now, or the timeout has passed
            if self._limit is not None:
                self._limit.reschedule(self._deadline())

    def _deadline(self) -> float:
        return min(asyncio.get_running_loop().time() + self._wait, self._end)


_MAX_COOLDOWN = 60.0
"""The longest cooldown in seconds, whatever the provider asks for. After that, people can try for themselves."""


class Cooldown:
    """The time until which a model is not asked. It is per model, since others of the provider may still answer."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until = 0.0

    def start(self, seconds: float) -> None:
        self._until = max(self._until, self._now() + min(seconds, _MAX_COOLDOWN))

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._until - self._now())


def format_seconds(left: float) -> str:
    """Format a wait in whole seconds, rounded up."""
    whole = math.ceil(left)
    return "1 second" if whole == 1 else f"{whole} seconds"
