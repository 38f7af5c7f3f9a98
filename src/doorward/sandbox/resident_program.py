"""A program that runs until somebody stops it, such as a development server, in a worker of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from doorward.core.errors import CommandFailed
from doorward.sandbox.program import SandboxResult
from doorward.sandbox.worker import Worker, WorkerGone

_PORTS_TIMEOUT = 5.0


class ResidentProgram:
    def __init__(self, name: str, worker: Worker, run: Awaitable[tuple[SandboxResult, int]]) -> None:
        self._name = name
        self._worker = worker
        self._run = asyncio.ensure_future(run)

    async def wait_started(self) -> None:
        """Wait until it has started; raises CommandFailed when it cannot."""
        either: list[asyncio.Future[Any]] = [self._run, self._worker.started]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self._run.done() and self._run.exception() is not None:
            await self.wait()

    async def wait(self) -> SandboxResult:
        """Wait until no process of it is left. Several callers may wait, and a cancelled wait does not end it."""
        try:
            ended, _ = await asyncio.shield(self._run)
        except WorkerGone as error:
            raise CommandFailed(f"The sandbox of {self._name} ended: {error}.") from error
        return ended

    async def list_ports(self) -> list[int]:
        """The TCP ports on which it listens now."""
        try:
            async with asyncio.timeout(_PORTS_TIMEOUT):
                return await self._worker.list_ports()
        except (TimeoutError, WorkerGone):
            return []

    async def stop(self, grace: float) -> None:
        """End it: SIGTERM to each of its processes, and SIGKILL to those that are left after `grace` seconds."""
        if not self._run.done():
            self._worker.terminate()
            await asyncio.wait([self._run], timeout=grace)
        await self.kill()

    async def kill(self) -> None:
        """Kill all its processes and wait until they are gone."""
        if not self._run.done():
            self._worker.stop()
            await asyncio.wait([self._run])

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        self._run.add_done_callback(lambda _: callback())
