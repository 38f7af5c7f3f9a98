"""Jobs of the shell: at most one in the foreground, any number in the background.

Each job is an execution. A background job buffers its notices until it returns to the foreground, so that its output
never mixes with what the person types.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Iterator

from doorward.cli.live import Live
from doorward.errors import BadParams, Cancelled, DoorwardError, Withdrawn
from doorward.executions.notices import Notice, Output, Started, Watch
from doorward.model import Outcome

_MOST_KEPT = 1_000_000
"""Maximum characters of output buffered for a background job; the oldest are dropped."""
_MOST_ENDED = 20
"""Maximum number of ended background jobs that are remembered."""

_STOPPED = frozenset({Cancelled.code, Withdrawn.code})


class Job:
    def __init__(self, line: str, live: Live) -> None:
        """`live` is the view for the foreground; it remembers what it has shown."""
        self.number = 0
        """Job number once it is in the background; 0 before."""
        self.line = line
        self.execution = ""
        self.known = asyncio.Event()
        """Set once the execution's id is known."""
        self.outcome: Outcome | None = None
        self.error: DoorwardError | None = None
        self.stopping = False
        """Whether the person stopped it."""
        self.told = False
        """Whether its end was reported at the prompt."""
        self.task: asyncio.Task[None] | None = None
        self._shows = live
        self.live: Live | None = live
        self._kept: deque[Notice] = deque()
        self._size = 0
        self._lost = 0

    @property
    def ended(self) -> bool:
        return self.task is not None and self.task.done()

    @property
    def broken(self) -> BaseException | None:
        """The unexpected exception that ended it, if any."""
        return self.task.exception() if self.task is not None and self.ended and not self.task.cancelled() else None

    def begin(self, work: Callable[[Watch], Coroutine[None, None, Outcome]]) -> None:
        async def run() -> None:
            try:
                self.outcome = await work(self.notice)
            except DoorwardError as error:
                self.error = error

        self.task = asyncio.create_task(run())

    def notice(self, notice: Notice) -> None:
        if isinstance(notice, Started) and not self.execution:
            self.execution = notice.execution
            self.known.set()
        if self.live is not None:
            self.live.notice(notice)
            return
        self._kept.append(notice)
        self._size += _size(notice)
        while self._size > _MOST_KEPT and len(self._kept) > 1:
            gone = self._kept.popleft()
            self._shows.passed_over(gone)
            self._size -= _size(gone)
            self._lost += _size(gone)

    def hide(self) -> None:
        """Move to the background."""
        if self.live is not None:
            self.live.rest()
        self.live = None

    def show(self) -> Live:
        """Move to the foreground, and show the buffered notices first."""
        self.live = self._shows
        if self._lost:
            self.live.write(f"({self._lost} characters of earlier output were dropped)\n", err=True)
        for notice in self._kept:
            self.live.notice(notice)
        self._kept.clear()
        self._size = self._lost = 0
        return self.live

    @property
    def state(self) -> str:
        if not self.ended:
            return "stopping" if self.stopping else "running"
        if self.stopping and (self.outcome is None or self.outcome.code in _STOPPED):
            return "stopped"
        if self.outcome is None:
            return "failed"
        return "waiting for approval" if self.outcome.status == "parked" else self.outcome.status


class Jobs:
    """The background jobs, by number."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}

    def __iter__(self) -> Iterator[Job]:
        return iter(list(self._jobs.values()))

    @property
    def running(self) -> list[Job]:
        return [job for job in self if not job.ended]

    def add(self, job: Job) -> None:
        if not job.number:
            job.number = max(self._jobs, default=0) + 1
        self._jobs[job.number] = job
        job.hide()
        ended = [one for one in self if one.ended and one is not job]
        for one in ended[:-_MOST_ENDED]:
            self.forget(one)

    def forget(self, job: Job) -> None:
        self._jobs.pop(job.number, None)

    def named(self, word: str) -> Job:
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
    return len(notice.text) if isinstance(notice, Output) else sys.getsizeof(notice)
