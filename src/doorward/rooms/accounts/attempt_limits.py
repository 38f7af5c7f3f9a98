"""Rate limits on password attempts, by the monotonic clock. No account is locked for good."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import NamedTuple

from doorward.core.clock import Clock
from doorward.core.errors import TooFast

_MAX_KEYS = 20_000


class AttemptLimit(NamedTuple):
    most: int
    seconds: float


PAIR_LIMIT = AttemptLimit(5, 60.0)
"""From one address to one account."""
ACCOUNT_LIMIT = AttemptLimit(30, 900.0)
"""To one account from all addresses. Beyond it, each address gets fewer attempts, and none is locked out by others."""
ATTACKED_LIMIT = AttemptLimit(1, 60.0)
"""From one address to one account that is under attack."""
ADDRESS_LIMIT = AttemptLimit(100, 900.0)
"""From one address to all accounts."""
REGISTRATION_LIMIT = AttemptLimit(10, 900.0)
"""Registrations from one address."""


class AttemptLimiter:
    """Counts failed attempts. The longest idle keys are forgotten first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: OrderedDict[str, deque[float]] = OrderedDict()

    def count(self, *limited: tuple[str, AttemptLimit]) -> None:
        """Count an attempt before it is made, or refuse it with a retry delay."""
        now = self._clock.steady()
        waits = [self._wait(key, limit, now) for key, limit in limited]
        wait = max(waits, default=0.0)
        if wait > 0:
            raise TooFast(f"Too many attempts. Try again in {wait:.0f} s.", retry_after=wait, rule="built-in: attempts")
        for key, _ in limited:
            self._window(key).append(now)

    def add(self, key: str) -> None:
        """Count an attempt without a limit."""
        self._window(key).append(self._clock.steady())

    def is_reached(self, key: str, limit: AttemptLimit) -> bool:
        return self._wait(key, limit, self._clock.steady()) > 0

    def uncount(self, *keys: str) -> None:
        """Uncount an attempt that succeeded."""
        for key in keys:
            window = self._windows.get(key)
            if window:
                window.pop()

    def clear(self, key: str) -> None:
        self._windows.pop(key, None)

    def _wait(self, key: str, limit: AttemptLimit, now: float) -> float:
        window = self._windows.get(key)
        if window is None:  # none is created for refused attempts, so that a flood cannot evict other keys
            return 0.0
        while window and window[0] <= now - limit.seconds:
            window.popleft()
        return window[0] + limit.seconds - now if len(window) >= limit.most else 0.0

    def _window(self, key: str) -> deque[float]:
        window = self._windows.setdefault(key, deque())
        self._windows.move_to_end(key)
        if len(self._windows) > _MAX_KEYS:
            self._windows.popitem(last=False)
        return window
