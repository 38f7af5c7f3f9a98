"""A clock that can be turned back while a house is filled, so that what is in it has an age."""

from __future__ import annotations

import time

from doorward.core.clock import Clock

DAY = 86_400.0


class TurnedClock(Clock):
    """Goes as any clock does, from wherever it was turned to."""

    def __init__(self) -> None:
        self._turned = 0.0
        super().__init__()

    def steady(self) -> float:
        return super().steady() + self._turned

    def wall_us(self) -> int:
        return time.time_ns() // 1_000 + int(self._turned * 1_000_000)

    def turn_to(self, wall: float) -> None:
        """Show this time from now on, in seconds since 1970."""
        self._turned += wall - self.now()

    def turn_back(self) -> None:
        """Show the true time again."""
        self._turned = 0.0


def midnight(now: float) -> float:
    """When the day began, in UTC, as everything here counts."""
    return now - now % DAY
