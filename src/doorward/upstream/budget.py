"""Rate limit on unsolicited messages: Doorward reads more slowly from a server that sends too many."""

from __future__ import annotations

A_SECOND = 1_000
"""Messages per second; each KiB counts as one more."""


class Budget:
    def __init__(self) -> None:
        self._spent = 0
        self._since = 0.0

    def spend(self, size: int, now: float) -> float:
        """Count a message of `size` bytes and return the seconds to pause reading."""
        if not self._spent:
            self._since = now
        self._spent += 1 + (size >> 10)
        if self._spent < A_SECOND:
            return 0.0
        pause = self._since + self._spent / A_SECOND - now
        self._spent = 0
        return max(pause, 0.0)
