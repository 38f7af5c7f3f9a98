"""A circuit breaker: after several failures in a row, calls fail fast until an attempt succeeds."""

from __future__ import annotations

from doorward.clock import Clock

FAILURES = 5
REST = 30.0


class Breaker:
    """Closed: calls pass. Open: calls are refused. After a rest one call may try, and its result decides."""

    def __init__(self, clock: Clock, failures: int = FAILURES, rest: float = REST) -> None:
        self._clock = clock
        self._most = failures
        self._rest = rest
        self._failures = 0
        self._until = 0.0
        self._trying = False

    def blocked(self) -> float:
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

    def failed(self) -> bool:
        """Count a failure; return whether the breaker is open now."""
        self._failures += 1
        self._trying = False
        opened = self._failures >= self._most
        if opened:
            self._until = self._clock.steady() + self._rest
        return opened

    def succeeded(self) -> None:
        self._failures = 0
        self._trying = False

    def undecided(self) -> None:
        """The caller gave up the attempt, which says nothing about the server."""
        self._trying = False
