"""What was begun in the shell and goes on: at most one job before the person's eyes, any number behind them.

Each is an execution of its own. One in the background keeps what it tells until somebody looks; nothing of it appears
between the lines that a person types.
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
"""Characters of output that are kept of a job nobody looks at; the newest stay."""
_MOST_ENDED = 20
"""So many jobs that ended in the background are remembered, for whoever looks late."""

_STOPPED = frozenset({Cancelled.code, Withdrawn.code})


class Job:
    def __init__(self, line: str, live: Live) -> None:
        """`live` shows it whenever somebody looks, and knows what it has shown already."""
        self.number = 0
        """Its number once it is in the background; 0 before."""
        self.line = line
        self.execution = ""
        self.known = asyncio.Event()
        """Set once it is known which execution it is."""
        self.outcome: Outcome | None = None
        self.error: DoorwardError | None = None
        self.stopping = False
        """Whether somebody stopped it."""
        self.told = False
        """Whether its end was told at the prompt."""
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
        """A defect of ours that ended it."""
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
        """Go on in the background."""
        if self.live is not None:
            self.live.rest()
        self.live = None

    def show(self) -> Live:
        """Come to the front: what was told meanwhile is shown first."""
        self.live = self._shows
        if self._lost:
            self.live.write(f"({self._lost} characters that came before are not kept)\n", err=True)
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
        return "waits for a person" if self.outcome.status == "parked" else self.outcome.status


class Jobs:
    """The jobs in the background, by number."""

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
        """The job that `%2`, or nothing for the newest that runs, or else that ran, means."""
        if not self._jobs:
            raise BadParams("There is no job in the background; `LINE &` begins one.")
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
