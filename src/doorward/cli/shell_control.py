"""Job control: what runs before the person's eyes, what goes on behind them, and the keys that move it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterable

import click

from doorward.cli.shell_jobs import Job, Jobs
from doorward.cli.shell_screen import told
from doorward.cli.shell_way import ShellWay
from doorward.visible import visible

_TICK = 0.125
_UNTIL_KNOWN = 1.0
"""Seconds to wait until it is known which execution is to be stopped; after that its connection is given up."""


class Control:
    def __init__(self, way: ShellWay, *, people: bool) -> None:
        """With nobody there, nothing can be put into the background: nobody would fetch it from there."""
        self.jobs = Jobs()
        self._way = way
        self._people = people
        self.fronted = asyncio.Event()
        """Set while something runs before the person's eyes, and the keys are about it."""
        self._front: Job | None = None
        self._hidden = asyncio.Event()
        self._stop: Callable[[], None] | None = None
        self._stopping: set[asyncio.Task[None]] = set()

    async def watch(self, job: Job) -> bool:
        """Watch a job until it ends; False when it goes into the background instead."""
        if job.task is None:
            raise RuntimeError("a job is watched once it has begun")
        self._front = job
        self._listen()
        self._hidden.clear()
        hidden = asyncio.ensure_future(self._hidden.wait())
        ticking = asyncio.ensure_future(_tick(job))
        try:
            self.fronted.set()
            await asyncio.wait([job.task, hidden], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._front = None
            self.fronted.clear()
            hidden.cancel()
            ticking.cancel()
        if job.ended:
            self.jobs.forget(job)
            return True
        self.put_behind(job)
        return False

    def put_behind(self, job: Job) -> None:
        self.jobs.add(job)
        told(f"[{job.number}] {visible(job.line, lines=False)}")

    def interrupt(self) -> None:
        """Ctrl-C: once it stops what runs, twice it lets go of it at once."""
        job = self._front
        if job is None or job.task is None:
            return
        if job.stopping:
            job.task.cancel()
            return
        job.stopping = True
        if job.live is not None:
            job.live.again = "lets go of it at once"
            job.live.stop()
        self._later(self.stop(job))

    def suspend(self) -> None:
        """Ctrl-Z: what runs goes on in the background."""
        if self._front is not None:
            self._hidden.set()

    async def stop(self, job: Job) -> None:
        """Stop an execution; where that is refused, or nothing is known of it, hanging up does."""
        if job.task is None or job.ended:
            return
        job.stopping = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_UNTIL_KNOWN):
                await job.known.wait()
        if not job.execution or not await self._way.cancel(job.execution):
            job.task.cancel()

    async def stop_all(self) -> None:
        """Nothing that was begun here outlives the shell."""
        running = self.jobs.running
        for job in running:
            await self.stop(job)
        for job in running:
            if job.task is not None:
                job.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await job.task

    def show(self, jobs: Iterable[Job] | None = None) -> None:
        """These jobs, or all of them."""
        for job in self.jobs if jobs is None else jobs:
            click.echo(about(job))
            job.told = job.told or job.ended

    def tell_of_ends(self) -> None:
        """Before a prompt: which jobs have ended meanwhile."""
        for job in self.jobs:
            if job.ended and not job.told:
                job.told = True
                told(f"{about(job)}   (fg %{job.number} shows what it wrote)")

    def _later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)

    def heed(self, stop: Callable[[], None] | None) -> None:
        """From now on Ctrl-C means `stop`, where that is given; else it and Ctrl-Z are about what runs, if anything."""
        self._stop = stop
        self._listen()

    def _listen(self) -> None:
        """The prompt has meanings of its own for these keys, and leaves none behind when it is done."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._stop or self.interrupt)
        if self._people:
            loop.add_signal_handler(signal.SIGTSTP, self.suspend)


def about(job: Job) -> str:
    return f"[{job.number}] {job.state}  {visible(job.line, lines=False)}"


async def _tick(job: Job) -> None:
    while True:
        await asyncio.sleep(_TICK)
        if job.live is not None:
            job.live.tick()
