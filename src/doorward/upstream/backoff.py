"""Exponential back-off with jitter."""

from __future__ import annotations

import random
from collections.abc import Callable

_FIRST, _MOST = 0.5, 300.0


class Backoff:
    """Doubles from half a second to five minutes. Jitter takes off up to half, so that servers that failed together do
    not restart together."""

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self.failures = 0

    def failed(self) -> float:
        """Count a failure and return the seconds to wait."""
        whole = min(_FIRST * 2.0 ** min(self.failures, 20), _MOST)
        self.failures += 1
        return whole * (1.0 - self._chance() / 2.0)

    def succeeded(self) -> None:
        self.failures = 0
