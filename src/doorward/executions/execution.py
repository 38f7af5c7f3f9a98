"""One call that was let in: where it stands, what it said, and who stopped it.

An execution costs no task of its own. It remembers the task that carries its call, and cancelling it cancels that task
at whatever the call waits for. The gate then asks `claim` whether that cancellation was this call's alone: if so the
call ends with an outcome and the task goes on; if not, somebody further out is stopped too and must hear of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import msgspec

from doorward import redact
from doorward.clock import Clock
from doorward.events import Bus, ExecutionProgressed, ExecutionStarted
from doorward.executions.notices import HEARS_ALL, Asked, Logged, Notice, Output, Progress, Started, Step, Watch
from doorward.executions.written import Written
from doorward.model import Call
from doorward.sandbox.program import Stream

State = Literal["queued", "running", "completed", "failed", "timed_out", "cancelled"]
ENDED = frozenset(get_args(State)) - {"queued", "running"}

_LONGEST_MESSAGE = 200
_MOST_READ = 2_000
_BETWEEN_PROGRESS = 0.1
"""Seconds between two notices of progress; what comes faster only changes what the next one says."""


class Means(msgspec.Struct, frozen=True):
    """What all executions of a house share."""

    clock: Clock
    events: Bus
    most_output: int
    """How many bytes of each stream are kept."""
    loop: asyncio.AbstractEventLoop | None = None
    """The loop that all of them run on; None: it is asked for each time, which takes a system call."""


class Unanswered(msgspec.Struct, frozen=True):
    """A question of another server that holds up a call until a person answers it."""

    server: str
    seconds: float
    """How long its operator lets a call of it take."""


class Execution:
    __slots__ = (
        "_announced",
        "_base",
        "_closed",
        "_delivered",
        "_doing",
        "_followers",
        "_means",
        "_progressed",
        "_waited_for",
        "_watch",
        "asked_at",
        "began_at",
        "call",
        "cancelled_by",
        "depth",
        "ended_at",
        "fraction",
        "hears",
        "made_calls",
        "parent",
        "state",
        "task",
        "unanswered",
        "written",
    )

    def __init__(self, call: Call, means: Means, watch: Watch | None = None, parent: Execution | None = None) -> None:
        task = asyncio.current_task(means.loop)
        if task is None:
            raise RuntimeError("a call runs in a task, or nobody could stop it")
        self.call = call
        self.state: State = "queued"
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.cancelled_by = ""
        """Who stopped it; empty while nobody did."""
        self.fraction: float | None = None
        self.unanswered: Unanswered | None = None
        """The question of another server that it waits for at this moment."""
        self.made_calls = False
        """Whether it has asked for calls inside it."""
        self.hears: frozenset[Stream] = HEARS_ALL
        """The streams that it takes over from calls inside it; what it takes over shows as its own output."""
        self.written: Written | None = None
        """What it has written so far; None while it wrote nothing."""
        self.asked_at = means.clock.steady()
        self.began_at: float | None = None
        self.ended_at: float | None = None
        self._means = means
        self._watch = watch
        self.task: asyncio.Task[object] = task
        self._base = task.cancelling()
        self._followers: tuple[Watch, ...] = ()
        self._announced = False
        self._delivered = False
        self._doing = ""
        self._progressed: float | None = None
        self._closed = False
        self._waited_for: asyncio.Future[None] | None = None

    @property
    def id(self) -> str:
        return self.call.id

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def seconds(self) -> float:
        """How long it has run, or ran; 0 while it waits."""
        if self.began_at is None:
            return 0.0
        return (self._means.clock.steady() if self.ended_at is None else self.ended_at) - self.began_at

    @property
    def started_at(self) -> float:
        """When it was let in, by the wall clock."""
        return self._means.clock.now() - (self._means.clock.steady() - self.asked_at)

    @property
    def message(self) -> str:
        """What it says it is doing; cut only once secrets are hidden, since half a secret looks like none."""
        if not self._doing:
            return ""
        hidden = redact.text(self._doing, self.call.secrets)
        return hidden[:_LONGEST_MESSAGE]

    def say(self, stream: Stream, data: bytes) -> None:
        """A piece of output, as it is made. What belongs to a call inside another shows in both, if it is heard."""
        if not data or self.ended:
            return
        self.announce()
        if self.written is None:
            self.written = Written(self._means.most_output)
        self._tell(stream, self.written.add(stream, data))
        if self.parent is not None and stream in self.parent.hears:
            self.parent.say(stream, data)

    def progress(self, fraction: float | None, message: str = "") -> None:
        """How far it is, from 0 to 1 (None: nobody can know), and what it is doing."""
        if self.ended:
            return
        self.announce()
        self.fraction = None if fraction is None or fraction != fraction else min(1.0, max(0.0, fraction))
        self._doing = message[:_MOST_READ]
        now = self._means.clock.steady()
        if self._progressed is not None and now - self._progressed < _BETWEEN_PROGRESS and self.fraction != 1.0:
            return
        self._progressed = now
        call, shown = self.call, self.message
        if self._watch is not None or self._followers:
            self._notify(Progress(self.fraction, shown))
        self._means.events.publish(
            ExecutionProgressed(
                tenant=call.caller.tenant,
                at=self._means.clock.now(),
                execution=call.id,
                caller=call.caller.id,
                room=call.room,
                command=call.command.name,
                fraction=self.fraction,
                message=shown,
            )
        )

    def log(self, server: str, level: str, text: str) -> None:
        """What another server wrote for a log, to whoever watches. It is kept nowhere, and cut as a message is."""
        if self.ended:
            return
        self._tell_outwards(Logged(server, level, text[:_MOST_READ]))

    def step(self, kind: str, data: Mapping[str, Any]) -> None:
        """What a call that consists of others does now, to whoever watches. It is kept nowhere."""
        if not self.ended:
            self._tell_outwards(Step(kind, data))

    def asked(self, question: Asked) -> None:
        """Another server, which this call waits for, has a question: tell whoever watches."""
        if self.ended:
            return
        self.announce()
        self._tell_outwards(question)

    def _tell_outwards(self, notice: Notice) -> None:
        """Tell whoever watches this call, or one that it runs inside of."""
        around: Execution | None = self
        while around is not None:
            around._notify(notice)
            around = around.parent

    def queue(self) -> None:
        """There is no free place: tell whoever watches that it waits."""
        if self._watch is not None:
            self._watch(Started(self.call.id, self.call.command.name, queued=True))

    def begin(self) -> None:
        """It has its place."""
        self.state = "running"
        self.began_at = self._means.clock.steady()
        if self._watch is not None or self._followers:
            self._notify(Started(self.call.id, self.call.command.name))

    def announce(self) -> None:
        """Publish that it started, once. Reads that only look something up are not worth an event."""
        if self._announced:
            return
        self._announced = True
        call = self.call
        self._means.events.publish(
            ExecutionStarted(
                tenant=call.caller.tenant,
                at=self._means.clock.now(),
                execution=call.id,
                caller=call.caller.id,
                kind=call.caller.kind,
                room=call.room,
                door=call.door,
                command=call.command.name,
            )
        )

    @property
    def announced(self) -> bool:
        return self._announced

    def end(self, state: State) -> None:
        """It is over, whether or not that is recorded yet; from here on nobody can stop it."""
        self.state = state
        self.ended_at = self._means.clock.steady()
        if self._doing:
            self._doing = self.message
        if self.written is not None:
            self._tell("stdout", self.written.finish("stdout"))
            self._tell("stderr", self.written.finish("stderr"))

    def cancel(self, by: str) -> bool:
        """Stop it. True when it is being stopped, by this or an earlier word; False when it had ended before."""
        if self.ended:
            return False
        if not self.cancelled_by:
            self.cancelled_by = by
            if self.task is asyncio.current_task():
                asyncio.get_running_loop().call_soon(self._deliver)
            else:
                self._deliver()
        return True

    def follow(self, watch: Watch) -> Callable[[], None]:
        """Tell somebody beside whoever asked what goes on from here; returns what ends that."""
        self._followers = (*self._followers, watch)

        def leave() -> None:
            self._followers = tuple(one for one in self._followers if one is not watch)

        return leave

    @property
    def is_being_stopped(self) -> bool:
        """Whether it, or the task that carries it, was cancelled and has not ended yet."""
        return self.task.cancelling() > self._base

    def claim(self) -> bool:
        """Whether the cancellation that has arrived was for this call alone; to be asked once, at its end."""
        return self._delivered and self.task.uncancel() <= self._base

    def encloses(self, other: Execution) -> bool:
        """Whether the other runs inside this one, or is it, and so cannot outlive it."""
        around: Execution | None = other
        while around is not None and around is not self:
            around = around.parent
        return around is self

    async def closed(self) -> None:
        """Wait until it ended and its record is stored."""
        if self._closed:
            return
        if self._waited_for is None:
            self._waited_for = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._waited_for)

    def close(self) -> None:
        """Let go of everything that only a live call needs."""
        self._closed = True
        if self._waited_for is not None:
            self._waited_for.set_result(None)
        self._watch = None
        self._followers = ()
        self.parent = None

    def _deliver(self) -> None:
        """Cancel the task where it waits. A task cannot do that to itself: it might wait for something else by then."""
        if not self.ended:
            self._delivered = True
            self.task.cancel()

    def _tell(self, stream: Stream, text: str) -> None:
        if text and (self._watch is not None or self._followers):
            self._notify(Output(stream, text))

    def _notify(self, notice: Notice) -> None:
        if self._watch is not None:
            self._watch(notice)
        for follower in self._followers:
            follower(notice)
