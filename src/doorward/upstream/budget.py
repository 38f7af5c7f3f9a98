"""How much a server may say unasked: who says more is read more slowly, and wastes its own time instead of ours."""

from __future__ import annotations

A_SECOND = 1_000
"""Messages in a second; each KiB of them counts as one more."""


class Budget:
    def __init__(self) -> None:
        self._spent = 0
        self._since = 0.0

    def spend(self, size: int, now: float) -> float:
        """One more message, of so many bytes; for how many seconds no more should be read."""
        if not self._spent:
            self._since = now
        self._spent += 1 + (size >> 10)
        if self._spent < A_SECOND:
            return 0.0
        pause = self._since + self._spent / A_SECOND - now
        self._spent = 0
        return max(pause, 0.0)
