"""Concurrency per session: a few calls run at once, a few more wait, and the rest are refused at once."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

from doorward.config.settings import Settings
from doorward.core.errors import NotPermitted, Overloaded
from doorward.gate.executions.execution import Execution

DEEPEST = 4
"""How deep calls may be nested below the call that came in by a door."""


class Slots:
    def __init__(self, settings: Settings) -> None:
        self._limits = settings.limits
        self._sessions: dict[str, _Session] = {}

    def place(self, session: str) -> Place:
        """Take a place for one call, running or waiting, as a context manager. Overloaded when none is left."""
        queue = self._sessions.get(session)
        if queue is None:
            queue = self._sessions[session] = _Session()
        most = self._limits.running + self._limits.queued
        if queue.held >= most:
            raise Overloaded(
                f"This session already has {self._limits.running} commands running and {self._limits.queued} queued, "
                "which is the limit.",
                hint="Wait until one of them ends.",
                retry_after=1.0,
            )
        queue.held += 1
        return Place(self, session, queue)

    def running(self) -> int:
        return sum(queue.running for queue in self._sessions.values())

    async def _take_turn(self, queue: _Session) -> None:
        turn = asyncio.get_running_loop().create_future()
        queue.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._free(queue)
            else:
                queue.waiting.remove(turn)
            raise

    def _free(self, queue: _Session) -> None:
        if queue.waiting:
            queue.waiting.popleft().set_result(None)
        else:
            queue.running -= 1

    def _leave(self, session: str, queue: _Session, ran: bool) -> None:
        if ran:
            self._free(queue)
        queue.held -= 1
        if queue.held == 0:
            del self._sessions[session]


class _Session:
    __slots__ = ("held", "running", "waiting")

    def __init__(self) -> None:
        self.held = 0
        self.running = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


class Place:
    """The place of one call in its session: entered when admitted, `turn` when it may run, left at its end."""

    def __init__(self, slots: Slots, session: str, queue: _Session) -> None:
        self._slots = slots
        self._session = session
        self._queue = queue
        self._ran = False

    def try_take(self) -> bool:
        """Take a running place if one is free. If not, the call must await its `turn`."""
        if not self._ran and self._queue.running < self._slots._limits.running:
            self._queue.running += 1
            self._ran = True
        return self._ran

    async def wait(self) -> None:
        """Wait until this call may run."""
        await self._slots._take_turn(self._queue)
        self._ran = True

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._slots._leave(self._session, self._queue, self._ran)


class NestedPlace:
    """The place of a nested call. Its parent already holds a place; waiting for a second one could deadlock."""

    @classmethod
    def of(cls, parent: Execution) -> NestedPlace:
        """A place inside the parent call. NotPermitted when the nesting is too deep."""
        if parent.depth >= DEEPEST:
            name = parent.call.command.name
            raise NotPermitted(
                f"Calls can be nested at most {DEEPEST} deep, and {name} is at that depth.",
                rule=f"built-in: calls nested at most {DEEPEST} deep",
            )
        return cls()

    def try_take(self) -> bool:
        return True

    async def wait(self) -> None:
        """At once."""

    def __enter__(self) -> NestedPlace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass
