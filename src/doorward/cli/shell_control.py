"""Job control in the shell: foreground, background, Ctrl-C and Ctrl-Z."""

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
"""Seconds to wait for the execution's id before the connection is closed instead."""


class Control:
    def __init__(self, way: ShellWay, *, people: bool) -> None:
        """Without `people`, Ctrl-Z is off: nobody could bring a background job back."""
        self.jobs = Jobs()
        self._way = way
        self._people = people
        self.fronted = asyncio.Event()
        """Set while a job is in the foreground and receives the keys."""
        self._front: Job | None = None
        self._hidden = asyncio.Event()
        self._stop: Callable[[], None] | None = None
        self._stopping: set[asyncio.Task[None]] = set()

    async def watch(self, job: Job) -> bool:
        """Keep a job in the foreground until it ends; False when it moves to the background instead."""
        if job.task is None:
            raise RuntimeError("a job must be started before it is watched")
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
        """Handle Ctrl-C: the first one cancels the job, a second one disconnects from it."""
        job = self._front
        if job is None or job.task is None:
            return
        if job.stopping:
            job.task.cancel()
            return
        job.stopping = True
        if job.live is not None:
            job.live.again = "disconnects from it"
            job.live.stop()
        self._later(self.stop(job))

    def suspend(self) -> None:
        """Handle Ctrl-Z: the job continues in the background."""
        if self._front is not None:
            self._hidden.set()

    async def stop(self, job: Job) -> None:
        """Cancel a job's execution. If that fails or its id is unknown, closing the connection cancels it."""
        if job.task is None or job.ended:
            return
        job.stopping = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_UNTIL_KNOWN):
                await job.known.wait()
        if not job.execution or not await self._way.cancel(job.execution):
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

    def show(self, jobs: Iterable[Job] | None = None) -> None:
        """List these jobs, or all of them."""
        for job in self.jobs if jobs is None else jobs:
            click.echo(about(job))
            job.told = job.told or job.ended

    def tell_of_ends(self) -> None:
        """Report the jobs that have ended since the last prompt."""
        for job in self.jobs:
            if job.ended and not job.told:
                job.told = True
                told(f"{about(job)}   (fg %{job.number} shows its output)")

    def _later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)

    def heed(self, stop: Callable[[], None] | None) -> None:
        """Install the signal handlers. With `stop`, Ctrl-C calls it; otherwise Ctrl-C and Ctrl-Z act on the job."""
        self._stop = stop
        self._listen()

    def _listen(self) -> None:
        """Set the handlers again, because the prompt replaces and then removes them."""
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
