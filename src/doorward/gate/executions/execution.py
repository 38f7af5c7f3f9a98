"""One execution: the state, output and cancellation of an admitted call.

An execution has no task of its own. It remembers the task that runs its call, and cancelling the execution cancels that
task. The gate then asks `claim` whether the cancellation was for this call alone. If so, the call ends with an outcome
and the task continues. If not, an outer call is cancelled too, and the cancellation propagates.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, get_args

import msgspec

from doorward.core import redact
from doorward.core.clock import Clock
from doorward.core.events import Bus, ExecutionProgressed, ExecutionStarted
from doorward.core.model import Call
from doorward.gate.deadlines import TimeLimit
from doorward.gate.executions.notices import (
    ALL_STREAMS,
    LogNotice,
    Notice,
    OutputNotice,
    ProgressNotice,
    QuestionNotice,
    StartedNotice,
    StepNotice,
    Watcher,
)
from doorward.gate.executions.output_buffer import OutputBuffer
from doorward.sandbox.program import OutputStream

ExecutionState = Literal["queued", "running", "completed", "failed", "timed_out", "cancelled"]
ENDED_STATES = frozenset(get_args(ExecutionState)) - {"queued", "running"}

_MAX_MESSAGE = 200
_MAX_INPUT = 2_000
_PROGRESS_INTERVAL = 0.1
"""The minimum seconds between two progress notices; faster updates are merged into the next one."""


class ExecutionServices(msgspec.Struct, frozen=True):
    """The services that all executions share."""

    clock: Clock
    events: Bus
    most_output: int
    """The most bytes kept of each stream."""
    loop: asyncio.AbstractEventLoop | None = None
    """The event loop of all executions. With None it is looked up each time, which costs a system call."""


class OpenQuestion(msgspec.Struct, frozen=True):
    """A question of an upstream server that blocks a call until a person answers it."""

    server: str
    seconds: float
    """The configured time limit for calls of that server."""


class Execution:
    __slots__ = (
        "_announced",
        "_base",
        "_closed",
        "_closing",
        "_delivered",
        "_followers",
        "_last_progress",
        "_message",
        "_services",
        "_watch",
        "asked_at",
        "began_at",
        "call",
        "cancelled_by",
        "depth",
        "ended_at",
        "fraction",
        "inherited_streams",
        "inner_seconds",
        "made_calls",
        "open_question",
        "output",
        "parent",
        "state",
        "task",
        "time_limit",
    )

    def __init__(
        self, call: Call, means: ExecutionServices, watch: Watcher | None = None, parent: Execution | None = None
    ) -> None:
        task = asyncio.current_task(means.loop)
        if task is None:
            raise RuntimeError("a call must run in a task, so that it can be cancelled")
        self.call = call
        self.state: ExecutionState = "queued"
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.cancelled_by = ""
        """Who cancelled it; empty if nobody did."""
        self.fraction: float | None = None
        self.open_question: OpenQuestion | None = None
        """The upstream question that it waits for now."""
        self.inner_seconds = 0.0
        """The running time of the calls inside it that have ended."""
        self.made_calls = False
        """Whether it made calls inside it."""
        self.inherited_streams: frozenset[OutputStream] = ALL_STREAMS
        """The streams of inner calls that count as its own output."""
        self.output: OutputBuffer | None = None
        """Its output so far; None before the first."""
        self.time_limit: TimeLimit | None = None
        self.asked_at = means.clock.steady()
        self.began_at: float | None = None
        self.ended_at: float | None = None
        self._services = means
        self._watch = watch
        self.task: asyncio.Task[object] = task
        self._base = task.cancelling()
        self._followers: tuple[Watcher, ...] = ()
        self._announced = False
        self._delivered = False
        self._message = ""
        self._last_progress: float | None = None
        self._closed = False
        self._closing: asyncio.Future[None] | None = None

    @property
    def id(self) -> str:
        return self.call.id

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED_STATES

    @property
    def seconds(self) -> float:
        """The running time so far or in total; 0 while it is queued."""
        if self.began_at is None:
            return 0.0
        return (self._services.clock.steady() if self.ended_at is None else self.ended_at) - self.began_at

    @property
    def own_seconds(self) -> float:
        """The running time without that of calls inside it; 0 if those took longer, because several ran at once."""
        return max(0.0, self.seconds - self.inner_seconds)

    @property
    def started_at(self) -> float:
        """The wall-clock time at which it was admitted."""
        return self._services.clock.now() - (self._services.clock.steady() - self.asked_at)

    @property
    def message(self) -> str:
        """Its progress message. Secrets are redacted before it is cut, because half a secret is not recognised."""
        if not self._message:
            return ""
        hidden = redact.text(self._message, self.call.secrets)
        return hidden[:_MAX_MESSAGE]

    def write(self, stream: OutputStream, data: bytes) -> None:
        """Add a piece of output. It also counts for the outer call, if that takes over this stream."""
        if not data or self.has_ended:
            return
        self.announce()
        if self.output is None:
            self.output = OutputBuffer(self._services.most_output)
        self._notify_output(stream, self.output.add(stream, data))
        if self.parent is not None and stream in self.parent.inherited_streams:
            self.parent.write(stream, data)

    def progress(self, fraction: float | None, message: str = "") -> None:
        """Report progress from 0 to 1 (None: unknown) with a message."""
        if self.has_ended:
            return
        self.announce()
        self.fraction = None if fraction is None or fraction != fraction else min(1.0, max(0.0, fraction))
        self._message = message[:_MAX_INPUT]
        now = self._services.clock.steady()
        if self._last_progress is not None and now - self._last_progress < _PROGRESS_INTERVAL and self.fraction != 1.0:
            return
        self._last_progress = now
        call, shown = self.call, self.message
        if self._watch is not None or self._followers:
            self._notify(ProgressNotice(self.fraction, shown))
        self._services.events.publish(
            ExecutionProgressed(
                tenant=call.caller.tenant,
                at=self._services.clock.now(),
                execution=call.id,
                caller=call.caller.id,
                room=call.room,
                command=call.command.name,
                fraction=self.fraction,
                message=shown,
            )
        )

    def log(self, server: str, level: str, text: str) -> None:
        """Pass a log line of an upstream server to watchers. It is cut like a message and not stored."""
        if self.has_ended:
            return
        self._notify_outer(LogNotice(server, level, text[:_MAX_INPUT]))

    def step(self, kind: str, data: Mapping[str, Any]) -> None:
        """Pass a step of a composite call to watchers. It is not stored."""
        if not self.has_ended:
            self._notify_outer(StepNotice(kind, data))

    def notify_question(self, question: QuestionNotice) -> None:
        """Pass a question of an upstream server to watchers."""
        if self.has_ended:
            return
        self.announce()
        self._notify_outer(question)

    def _notify_outer(self, notice: Notice) -> None:
        """Notify the watchers of this call and of its outer calls."""
        around: Execution | None = self
        while around is not None:
            around._notify(notice)
            around = around.parent

    @contextlib.contextmanager
    def pause_time(self) -> Iterator[None]:
        """Stop the time limits of this call and of its outer calls while a person is asked about something in it."""
        paused = []
        around: Execution | None = self
        while around is not None:
            if around.time_limit is not None:
                around.time_limit.pause()
                paused.append(around.time_limit)
            around = around.parent
        try:
            yield
        finally:
            for limit in paused:
                limit.resume()

    def queue(self) -> None:
        """Notify the watcher that the call waits for a free slot."""
        if self._watch is not None:
            self._watch(StartedNotice(self.call.id, self.call.command.name, queued=True))

    def begin(self) -> None:
        """Start running."""
        self.state = "running"
        self.began_at = self._services.clock.steady()
        if self._watch is not None or self._followers:
            self._notify(StartedNotice(self.call.id, self.call.command.name))

    def announce(self) -> None:
        """Publish the start event, once. Plain reads publish none."""
        if self._announced:
            return
        self._announced = True
        call = self.call
        self._services.events.publish(
            ExecutionStarted(
                tenant=call.caller.tenant,
                at=self._services.clock.now(),
                execution=call.id,
                caller=call.caller.id,
                kind=call.caller.kind,
                room=call.room,
                door=call.door,
                command=call.command.name,
            )
        )

    @property
    def is_announced(self) -> bool:
        return self._announced

    def end(self, state: ExecutionState) -> None:
        """End the execution, before or after it is recorded. It can no longer be cancelled."""
        self.state = state
        self.ended_at = self._services.clock.steady()
        if self.parent is not None:
            self.parent.inner_seconds += self.seconds
        if self._message:
            self._message = self.message
        if self.output is not None:
            self._notify_output("stdout", self.output.finish("stdout"))
            self._notify_output("stderr", self.output.finish("stderr"))

    def cancel(self, by: str) -> bool:
        """Cancel it. Returns True if it is being cancelled, now or by an earlier request, and False if it had ended."""
        if self.has_ended:
            return False
        if not self.cancelled_by:
            self.cancelled_by = by
            if self.task is asyncio.current_task():
                asyncio.get_running_loop().call_soon(self._cancel_task)
            else:
                self._cancel_task()
        return True

    def follow(self, watch: Watcher) -> Callable[[], None]:
        """Add a follower beside the caller's watcher; return a function that removes it."""
        self._followers = (*self._followers, watch)

        def leave() -> None:
            self._followers = tuple(one for one in self._followers if one is not watch)

        return leave

    @property
    def is_cancelling(self) -> bool:
        """Whether it or its task was cancelled and has not ended yet."""
        return self.task.cancelling() > self._base

    def claim_cancellation(self) -> bool:
        """Whether the cancellation was for this call alone. Call it once, at the end."""
        return self._delivered and self.task.uncancel() <= self._base

    def encloses(self, other: Execution) -> bool:
        """Whether the other execution is this one or runs inside it."""
        around: Execution | None = other
        while around is not None and around is not self:
            around = around.parent
        return around is self

    @property
    def digests(self) -> set[str]:
        """The digests of its call and of the calls around it, up to the keeper's request."""
        found = {self.call.digest}
        around = self.parent
        while around is not None and not around.call.command.facts.runs_agent:
            found.add(around.call.digest)
            around = around.parent
        return found

    async def wait_closed(self) -> None:
        """Wait until it has ended and its record is stored."""
        if self._closed:
            return
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._closing)

    def close(self) -> None:
        """Release everything that only a live call needs."""
        self._closed = True
        if self._closing is not None:
            self._closing.set_result(None)
        self._watch = None
        self._followers = ()
        self.parent = None

    def _cancel_task(self) -> None:
        """Cancel the task at its await. A task does not cancel itself directly, since it may await something else by
        then."""
        if not self.has_ended:
            self._delivered = True
            self.task.cancel()

    def _notify_output(self, stream: OutputStream, text: str) -> None:
        if text and (self._watch is not None or self._followers):
            self._notify(OutputNotice(stream, text))

    def _notify(self, notice: Notice) -> None:
        if self._watch is not None:
            self._watch(notice)
        for follower in self._followers:
            follower(notice)
