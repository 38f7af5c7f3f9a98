"""Job control in the shell: at most one job in the foreground, any number in the background.

Each job is an execution. A background job buffers its notices until it returns to the foreground, so that its output
never mixes with what the person types.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator

import click

from doorward.cli.live_view import LiveView
from doorward.cli.shell_transport import ShellTransport
from doorward.cli.shell_view import print_shell_note
from doorward.core.errors import BadParams, Cancelled, DoorwardError, Withdrawn
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import Outcome
from doorward.gate.executions.notices import Notice, OutputNotice, StartedNotice, Watcher

_MAX_BUFFERED_CHARS = 1_000_000
"""Maximum characters of output buffered for a background job; the oldest are dropped."""
_MAX_ENDED_JOBS = 20
"""Maximum number of ended background jobs that are remembered."""

_CANCELLED_CODES = frozenset({Cancelled.code, Withdrawn.code})


class ShellJob:
    def __init__(self, line: str, live: LiveView) -> None:
        """`live` is the view for the foreground; it remembers what it has shown."""
        self.number = 0
        """Job number once it is in the background; 0 before."""
        self.line = line
        self.execution = ""
        self.execution_known = asyncio.Event()
        """Set once the execution's id is known."""
        self.outcome: Outcome | None = None
        self.error: DoorwardError | None = None
        self.stopping = False
        """Whether the person stopped it."""
        self.end_reported = False
        """Whether its end was reported at the prompt."""
        self.task: asyncio.Task[None] | None = None
        self._view = live
        self.active_view: LiveView | None = live
        self._buffer: deque[Notice] = deque()
        self._size = 0
        self._dropped = 0

    @property
    def ended(self) -> bool:
        return self.task is not None and self.task.done()

    @property
    def exception(self) -> BaseException | None:
        """The unexpected exception that ended it, if any."""
        return self.task.exception() if self.task is not None and self.ended and not self.task.cancelled() else None

    def start(self, work: Callable[[Watcher], Coroutine[None, None, Outcome]]) -> None:
        async def run() -> None:
            try:
                self.outcome = await work(self.handle_notice)
            except DoorwardError as error:
                self.error = error

        self.task = asyncio.create_task(run())

    def handle_notice(self, notice: Notice) -> None:
        if isinstance(notice, StartedNotice) and not self.execution:
            self.execution = notice.execution
            self.execution_known.set()
        if self.active_view is not None:
            self.active_view.handle_notice(notice)
            return
        self._buffer.append(notice)
        self._size += _size(notice)
        while self._size > _MAX_BUFFERED_CHARS and len(self._buffer) > 1:
            gone = self._buffer.popleft()
            self._view.skip_notice(gone)
            self._size -= _size(gone)
            self._dropped += _size(gone)

    def hide(self) -> None:
        """Move to the background."""
        if self.active_view is not None:
            self.active_view.end_line()
        self.active_view = None

    def show(self) -> LiveView:
        """Move to the foreground, and show the buffered notices first."""
        self.active_view = self._view
        if self._dropped:
            self.active_view.write(f"({self._dropped} characters of earlier output were dropped)\n", err=True)
        for notice in self._buffer:
            self.active_view.handle_notice(notice)
        self._buffer.clear()
        self._size = self._dropped = 0
        return self.active_view

    @property
    def state(self) -> str:
        if not self.ended:
            return "stopping" if self.stopping else "running"
        if self.stopping and (self.outcome is None or self.outcome.code in _CANCELLED_CODES):
            return "stopped"
        if self.outcome is None:
            return "failed"
        return "waiting for approval" if self.outcome.status == "parked" else self.outcome.status


class JobTable:
    """The background jobs, by number."""

    def __init__(self) -> None:
        self._jobs: dict[int, ShellJob] = {}

    def __iter__(self) -> Iterator[ShellJob]:
        return iter(list(self._jobs.values()))

    @property
    def running(self) -> list[ShellJob]:
        return [job for job in self if not job.ended]

    def add(self, job: ShellJob) -> None:
        if not job.number:
            job.number = max(self._jobs, default=0) + 1
        self._jobs[job.number] = job
        job.hide()
        ended = [one for one in self if one.ended and one is not job]
        for one in ended[:-_MAX_ENDED_JOBS]:
            self.forget(one)

    def forget(self, job: ShellJob) -> None:
        self._jobs.pop(job.number, None)

    def find(self, word: str) -> ShellJob:
        """Return the job for a word such as `%2`. An empty word is the newest running job, or else the newest."""
        if not self._jobs:
            raise BadParams("There are no background jobs; `LINE &` starts one.")
        if not word:
            return max(self.running or self, key=lambda job: job.number)
        digits = word.removeprefix("%")
        found = self._jobs.get(int(digits)) if digits.isascii() and digits.isdigit() else None
        if found is None:
            valid = ", ".join(f"%{number}" for number in self._jobs)
            raise BadParams(f"There is no such job; valid: {valid}. Given: {word[:40]!r}.")
        return found


def _size(notice: Notice) -> int:
    return len(notice.text) if isinstance(notice, OutputNotice) else sys.getsizeof(notice)


_TICK = 0.125
_ID_TIMEOUT = 1.0
"""Seconds to wait for the execution's id before the connection is closed instead."""


class JobControl:
    def __init__(self, way: ShellTransport, *, people: bool) -> None:
        """Without `people`, Ctrl-Z is off: nobody could bring a background job back."""
        self.jobs = JobTable()
        self._transport = way
        self._people = people
        self.has_foreground = asyncio.Event()
        """Set while a job is in the foreground and receives the keys."""
        self._foreground: ShellJob | None = None
        self._suspended = asyncio.Event()
        self._on_interrupt: Callable[[], None] | None = None
        self._stop_tasks: set[asyncio.Task[None]] = set()

    async def run_in_foreground(self, job: ShellJob) -> bool:
        """Keep a job in the foreground until it ends; False when it moves to the background instead."""
        if job.task is None:
            raise RuntimeError("a job must be started before it is watched")
        self._foreground = job
        self._set_handlers()
        self._suspended.clear()
        hidden = asyncio.ensure_future(self._suspended.wait())
        ticking = asyncio.ensure_future(_tick(job))
        try:
            self.has_foreground.set()
            await asyncio.wait([job.task, hidden], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._foreground = None
            self.has_foreground.clear()
            hidden.cancel()
            ticking.cancel()
        if job.ended:
            self.jobs.forget(job)
            return True
        self.move_to_background(job)
        return False

    def move_to_background(self, job: ShellJob) -> None:
        self.jobs.add(job)
        print_shell_note(f"[{job.number}] {escape_invisible(job.line, lines=False)}")

    def interrupt(self) -> None:
        """Handle Ctrl-C: the first one cancels the job, a second one disconnects from it."""
        job = self._foreground
        if job is None or job.task is None:
            return
        if job.stopping:
            job.task.cancel()
            return
        job.stopping = True
        if job.active_view is not None:
            job.active_view.second_interrupt = "disconnects from it"
            job.active_view.stop()
        self._start_task(self.stop(job))

    def suspend(self) -> None:
        """Handle Ctrl-Z: the job continues in the background."""
        if self._foreground is not None:
            self._suspended.set()

    async def stop(self, job: ShellJob) -> None:
        """Cancel a job's execution. If that fails or its id is unknown, closing the connection cancels it."""
        if job.task is None or job.ended:
            return
        job.stopping = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ID_TIMEOUT):
                await job.execution_known.wait()
        if not job.execution or not await self._transport.cancel(job.execution):
            job.task.cancel()

    async def stop_all(self) -> None:
        """Stop every job, so that none outlives the shell."""
        running = self.jobs.running
        for job in running:
            await self.stop(job)
        for job in running:
            if job.task is not None:
                job.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await job.task

    def show(self, jobs: Iterable[ShellJob] | None = None) -> None:
        """List these jobs, or all of them."""
        for job in self.jobs if jobs is None else jobs:
            click.echo(format_job(job))
            job.end_reported = job.end_reported or job.ended

    def report_ended_jobs(self) -> None:
        """Report the jobs that have ended since the last prompt."""
        for job in self.jobs:
            if job.ended and not job.end_reported:
                job.end_reported = True
                print_shell_note(f"{format_job(job)}   (fg %{job.number} shows its output)")

    def _start_task(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._stop_tasks.add(task)
        task.add_done_callback(self._stop_tasks.discard)

    def install_handlers(self, stop: Callable[[], None] | None) -> None:
        """Install the signal handlers. With `stop`, Ctrl-C calls it; otherwise Ctrl-C and Ctrl-Z act on the job."""
        self._on_interrupt = stop
        self._set_handlers()

    def _set_handlers(self) -> None:
        """Set the handlers again, because the prompt replaces and then removes them."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._on_interrupt or self.interrupt)
        if self._people:
            loop.add_signal_handler(signal.SIGTSTP, self.suspend)


def format_job(job: ShellJob) -> str:
    return f"[{job.number}] {job.state}  {escape_invisible(job.line, lines=False)}"


async def _tick(job: ShellJob) -> None:
    while True:
        await asyncio.sleep(_TICK)
        if job.active_view is not None:
            job.active_view.tick()
