"""Pending requests with deadlines, served by one timer.

A timer for each call would cost more than the rest of the call. The timer is set for the earliest deadline and checks
all requests when it fires; calls that end in time never touch it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from typing import Any

from doorward.upstream.calls import CallHooks

_MAX_ABANDONED = 1_000
"""Number of abandoned requests to remember, so that their late answers do not count as errors."""


class PendingRequest:
    """One pending request."""

    __slots__ = ("answer", "asking", "deadline", "hooks", "id", "method", "patience", "questions")

    def __init__(self, id: int, method: str, patience: float, hooks: CallHooks | None, loop: asyncio.AbstractEventLoop):
        self.id = id
        self.method = method
        self.patience = patience
        self.deadline = loop.time() + patience
        self.hooks = hooks
        self.answer: asyncio.Future[dict[str, Any]] = loop.create_future()
        self.asking: set[asyncio.Task[None]] | None = None
        """Open questions of the server that belong, or may belong, to this call."""
        self.questions = 0


class PendingRequests:
    def __init__(self, expired: Callable[[PendingRequest], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._expired = expired
        self._requests: dict[int, PendingRequest] = {}
        self._last = 0
        self._timer: asyncio.TimerHandle | None = None
        self._abandoned: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[PendingRequest]:
        return iter(self._requests.values())

    def open(self, method: str, patience: float, hooks: CallHooks | None) -> PendingRequest:
        self._last = id = self._last + 1
        waiting = self._requests[id] = PendingRequest(id, method, patience, hooks, self._loop)
        timer = self._timer
        if (timer is None or timer.when() > waiting.deadline) and patience != math.inf:
            self._set_timer(waiting.deadline)
        return waiting

    def get(self, id: object) -> PendingRequest | None:
        return self._requests.get(id) if type(id) is int else None

    def close(self, waiting: PendingRequest) -> None:
        """Remove a request that was answered or abandoned."""
        self._requests.pop(waiting.id, None)
        if waiting.asking:
            for task in waiting.asking:
                if not any(one.asking and task in one.asking for one in self):
                    task.cancel()

    def abandon(self, id: int) -> None:
        """Remember that a late answer to this request may arrive."""
        self._abandoned[id] = None
        if len(self._abandoned) > _MAX_ABANDONED:
            del self._abandoned[next(iter(self._abandoned))]

    def is_late_answer(self, id: object) -> bool:
        """Whether this answers an abandoned request. True only once for each id."""
        return type(id) is int and self._abandoned.pop(id, self) is None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        now = self._loop.time()
        for waiting in list(self._requests.values()):
            if waiting.asking:  # while a question is open, the deadline moves on
                waiting.deadline = now + waiting.patience
            elif waiting.deadline <= now:
                self._expired(waiting)
        deadlines = [waiting.deadline for waiting in self._requests.values() if not waiting.answer.done()]
        first = min(deadlines, default=math.inf)
        if first != math.inf:
            self._set_timer(first)
