"""How long to wait before the next attempt: longer each time, and never for all at the same moment."""

from __future__ import annotations

import random
from collections.abc import Callable

_FIRST, _MOST = 0.5, 300.0


class Backoff:
    """Doubles from half a second to five minutes. Chance takes off up to half, so that servers that fell together do
    not come back together."""

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self.failures = 0

    def failed(self) -> float:
        """One more failure; the seconds to wait after it."""
        whole = min(_FIRST * 2.0 ** min(self.failures, 20), _MOST)
        self.failures += 1
        return whole * (1.0 - self._chance() / 2.0)

    def succeeded(self) -> None:
        self.failures = 0
