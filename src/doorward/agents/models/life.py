"""Signs of life of a model that has said nothing yet: each lets the time in which it may be silent begin anew."""

from __future__ import annotations

import asyncio
import contextlib


class Life:
    """That of one answer."""

    def __init__(self) -> None:
        self._limit: asyncio.Timeout | None = None
        self._wait = self._end = 0.0

    def within(self, wait: float, end: float) -> asyncio.Timeout:
        """The time for the next piece: so many seconds behind the last sign of life, and never beyond the end."""
        self._wait, self._end = wait, end
        self._limit = asyncio.timeout_at(self._until())
        return self._limit

    def heard(self) -> None:
        with contextlib.suppress(RuntimeError):  # nobody waits for a piece just now, or time is up already
            if self._limit is not None:
                self._limit.reschedule(self._until())

    def _until(self) -> float:
        return min(asyncio.get_running_loop().time() + self._wait, self._end)
