"""How long a model is left alone whose provider asked for it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

_LONGEST = 60.0
"""None is left alone for longer than this at once, whatever is asked for: people can see for themselves by then."""


class Rest:
    """Until when a model is left alone. Asking earlier would only make it longer, and its sisters may well answer."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._until = 0.0

    def take(self, seconds: float) -> None:
        self._until = max(self._until, self._now() + min(seconds, _LONGEST))

    @property
    def left(self) -> float:
        return max(0.0, self._until - self._now())


def seconds(left: float) -> str:
    """A time to wait in words, never too short."""
    whole = math.ceil(left)
    return "1 second" if whole == 1 else f"{whole} seconds"
