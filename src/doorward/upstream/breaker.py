"""A circuit breaker: after many failures in a row nobody waits any more, until one attempt went well again."""

from __future__ import annotations

from doorward.clock import Clock

FAILURES = 5
REST = 30.0


class Breaker:
    """Closed, calls pass. Open, they are refused. After a rest one of them may try, and its end decides."""

    def __init__(self, clock: Clock, failures: int = FAILURES, rest: float = REST) -> None:
        self._clock = clock
        self._most = failures
        self._rest = rest
        self._failures = 0
        self._until = 0.0
        self._trying = False

    def blocked(self) -> float:
        """For how many seconds calls are refused; 0 lets this one pass."""
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
        """Count a failure; whether calls are refused from now on."""
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
        """The attempt was given up by whoever made it, which says nothing of the server."""
        self._trying = False
