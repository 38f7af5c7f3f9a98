"""The idle timeout of one answer, extended by every sign of life of the model."""

from __future__ import annotations

import asyncio
import contextlib


class Life:
    """The idle timeout of one answer."""

    def __init__(self) -> None:
        self._limit: asyncio.Timeout | None = None
        self._wait = self._end = 0.0

    def within(self, wait: float, end: float) -> asyncio.Timeout:
        """Return the timeout for the next piece: `wait` seconds after the last sign of life, and never after `end`."""
        self._wait, self._end = wait, end
        self._limit = asyncio.timeout_at(self._until())
        return self._limit

    def heard(self) -> None:
        with contextlib.suppress(RuntimeError):  # no piece is awaited now, or the timeout has passed
            if self._limit is not None:
                self._limit.reschedule(self._until())

    def _until(self) -> float:
        return min(asyncio.get_running_loop().time() + self._wait, self._end)
