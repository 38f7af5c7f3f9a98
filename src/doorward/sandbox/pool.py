"""A pool of warm workers for one profile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from doorward.sandbox.profile import Files
from doorward.sandbox.worker import Worker, WorkerGone
from doorward.sandbox.zygote import Zygote


class Pool:
    def __init__(self, start: Callable[[], Awaitable[Zygote]], most: int) -> None:
        self._start = start
        self._places = asyncio.Semaphore(most)
        self._starting = asyncio.Lock()
        self._zygote: Zygote | None = None
        self._idle: dict[Files, list[Worker]] = {"read": [], "write": [], "copy": []}
        self._taken = 0
        self._used_at = asyncio.get_running_loop().time()

    async def take(self, files: Files) -> Worker:
        """Take a worker for one program, and give it back afterwards. Waits while the pool is at its limit."""
        self._taken += 1
        try:
            await self._places.acquire()
            try:
                return self._waiting(files) or await self._new(files)
            except BaseException:
                self._places.release()
                raise
        except BaseException:
            self._taken -= 1
            raise

    def give_back(self, worker: Worker) -> None:
        if worker.used or self._zygote is None:
            worker.close()
        else:
            self._idle[worker.files].append(worker)
        self._places.release()
        self._taken -= 1
        self._used_at = asyncio.get_running_loop().time()

    def idle_since(self) -> float | None:
        """The loop time of the last use; None while in use."""
        return None if self._taken else self._used_at

    async def close(self) -> None:
        """End all workers. The next program starts new ones."""
        for idle in self._idle.values():
            while idle:
                idle.pop().close()
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            await zygote.close()

    def _waiting(self, files: Files) -> Worker | None:
        """Take an idle worker that is still alive, if there is one."""
        while self._idle[files]:
            worker = self._idle[files].pop()
            if worker.alive:
                return worker
            worker.close()
        return None

    async def _new(self, files: Files) -> Worker:
        """Start a worker. If the zygote has died, restart it once."""
        zygote = await self._living()
        try:
            return await zygote.worker(files)
        except WorkerGone:
            if not zygote.died():
                raise
        return await (await self._living()).worker(files)

    async def _living(self) -> Zygote:
        async with self._starting:
            if self._zygote is not None and self._zygote.died():
                await self.close()
            if self._zygote is None:
                self._zygote = await self._start()
            return self._zygote
