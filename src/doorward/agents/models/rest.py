"""The cooldown of a rate-limited model."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

_LONGEST = 60.0
"""The longest cooldown in seconds, whatever the provider asks for. After that, people can try for themselves."""


class Rest:
    """The time until which a model is not asked. It is per model, since others of the provider may still answer."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until = 0.0

    def take(self, seconds: float) -> None:
        self._until = max(self._until, self._now() + min(seconds, _LONGEST))

    @property
    def left(self) -> float:
        return max(0.0, self._until - self._now())


def seconds(left: float) -> str:
    """Format a wait in whole seconds, rounded up."""
    whole = math.ceil(left)
    return "1 second" if whole == 1 else f"{whole} seconds"
