"""Time limits of calls: one timer for all, since a timer for each call would cost more than most calls do.

The timer is set for the earliest deadline and checks all others when it fires. Work that ends in time never touches it.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from doorward.core.model import Call
from doorward.gate.recipes.policy import Policy


class Deadlines:
    def __init__(self) -> None:
        self._limits: set[TimeLimit] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, limit: TimeLimit, loop: asyncio.AbstractEventLoop) -> None:
        self._limits.add(limit)
        if self._timer is None or self._timer.when() > limit.when:
            self._set(limit.when, loop)

    def remove(self, limit: TimeLimit) -> None:
        self._limits.discard(limit)

    def _set(self, when: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(when, self._expire_due, loop)

    def _expire_due(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for limit in [limit for limit in self._limits if limit.when <= now]:
            self._limits.discard(limit)
            limit.expire()
        if self._limits:
            self._set(min(limit.when for limit in self._limits), loop)


class TimeLimit:
    """Cancels its task when the time is over, and turns that cancellation into a TimeoutError."""

    __slots__ = ("_base", "_deadlines", "_pauses", "_seconds_left", "_task", "expired", "when")

    def __init__(self, deadlines: Deadlines, task: asyncio.Task[Any], seconds: float) -> None:
        loop = task.get_loop()
        self.when = loop.time() + seconds
        self.expired = False
        self._deadlines = deadlines
        self._task = task
        self._base = task.cancelling()
        self._pauses = 0
        self._seconds_left = 0.0
        deadlines.add(self, loop)

    def pause(self) -> None:
        """Stop the clock until `resume` was called as often: the call waits for a person."""
        if not self._pauses:
            self._seconds_left = self.when - self._task.get_loop().time()
            self._deadlines.remove(self)
        self._pauses += 1

    def resume(self) -> None:
        self._pauses -= 1
        if not self._pauses:
            loop = self._task.get_loop()
            self.when = loop.time() + self._seconds_left
            self._deadlines.add(self, loop)

    def expire(self) -> None:
        self.expired = True
        self._task.cancel()

    def __enter__(self) -> TimeLimit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pause()  # for good
        if self.expired and self._task.uncancel() <= self._base and kind is asyncio.CancelledError:
            raise TimeoutError from error


def timeout_for(call: Call, policy: Policy | None) -> float:
    """The time limit of a call in seconds: the command's own, or the recipe's if that is shorter."""
    most = policy.limits.timeout if policy is not None else None
    return call.command.facts.timeout if most is None else min(most, call.command.facts.timeout)
