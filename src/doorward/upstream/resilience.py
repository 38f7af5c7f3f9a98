"""Resilience of upstream connections: back-off, circuit breaker, rate limits, timers, guarded listeners."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Any, Protocol

from doorward.core.clock import Clock


class Timer(Protocol):
    def cancel(self) -> None: ...


SetTimer = Callable[[float, Callable[[], None]], Timer]
"""Sets a timer, as `loop.call_later` does. Tests pass one that they control."""


class InterruptibleTimer:
    def __init__(self, set_timer: SetTimer | None) -> None:
        self._set_timer = set_timer
        self._news = asyncio.Event()

    def wake(self) -> None:
        """Wake up the task that waits."""
        self._news.set()

    def reset(self) -> None:
        """Discard a pending ring."""
        self._news.clear()

    async def wait(self, seconds: float, *, news: bool = True) -> bool:
        """Wait for the time to pass or, with `news`, for a ring. Return whether the time has passed."""
        up = asyncio.Event()
        over = self._news if news else up

        def ring() -> None:
            up.set()
            over.set()

        timer = (self._set_timer or asyncio.get_running_loop().call_later)(seconds, ring)
        try:
            await over.wait()
        finally:
            timer.cancel()
        if news:
            self._news.clear()
        return up.is_set()


_FIRST, _MOST = 0.5, 300.0


class Backoff:
    """Doubles from half a second to five minutes. Jitter takes off up to half, so that servers that failed together do
    not restart together."""

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self.failures = 0

    def record_failure(self) -> float:
        """Count a failure and return the seconds to wait."""
        whole = min(_FIRST * 2.0 ** min(self.failures, 20), _MOST)
        self.failures += 1
        return whole * (1.0 - self._chance() / 2.0)

    def reset(self) -> None:
        self.failures = 0


FAILURE_LIMIT = 5
REST_SECONDS = 30.0


class CircuitBreaker:
    """Closed: calls pass. Open: calls are refused. After a rest one call may try, and its result decides."""

    def __init__(self, clock: Clock, failures: int = FAILURE_LIMIT, rest: float = REST_SECONDS) -> None:
        self._clock = clock
        self._most = failures
        self._rest = rest
        self._failures = 0
        self._until = 0.0
        self._trying = False

    def seconds_blocked(self) -> float:
        """Seconds for which calls are still refused; 0 lets this call pass."""
        if self._failures < self._most:
            return 0.0
        left = self._until - self._clock.steady()
        if left > 0:
            return left
        if self._trying:
            return 1.0
        self._trying = True
        return 0.0

    def record_failure(self) -> bool:
        """Count a failure; return whether the breaker is open now."""
        self._failures += 1
        self._trying = False
        opened = self._failures >= self._most
        if opened:
            self._until = self._clock.steady() + self._rest
        return opened

    def record_success(self) -> None:
        self._failures = 0
        self._trying = False

    def abandon_attempt(self) -> None:
        """The caller gave up the attempt, which says nothing about the server."""
        self._trying = False


MESSAGES_PER_SECOND = 1_000
"""Messages per second; each KiB counts as one more."""


class RateLimit:
    def __init__(self) -> None:
        self._spent = 0
        self._since = 0.0

    def spend(self, size: int, now: float) -> float:
        """Count a message of `size` bytes and return the seconds to pause reading."""
        if not self._spent:
            self._since = now
        self._spent += 1 + (size >> 10)
        if self._spent < MESSAGES_PER_SECOND:
            return 0.0
        pause = self._since + self._spent / MESSAGES_PER_SECOND - now
        self._spent = 0
        return max(pause, 0.0)


log = logging.getLogger(__name__)


def call_listener(listener: Callable[..., None], *told: Any) -> None:
    try:
        listener(*told)
    except Exception:
        log.exception("a listener of an upstream server raised an exception")
