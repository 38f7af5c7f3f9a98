"""How long a provider that asked for it is left alone."""

from __future__ import annotations

import time
from collections.abc import Callable

_LONGEST = 3_600.0
"""Nobody is left alone for longer than this at once, whatever they ask for."""


class Rest:
    """Until when a provider asked to be left alone. Asking earlier would only make it longer."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until = 0.0

    def take(self, seconds: float) -> None:
        self._until = max(self._until, self._now() + min(seconds, _LONGEST))

    @property
    def left(self) -> float:
        return max(0.0, self._until - self._now())
