"""The warm workers of one profile: taken for a program, given back after it, let go when nobody needs them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from doorward.sandbox.worker import Worker, WorkerGone
from doorward.sandbox.zygote import Zygote


class Pool:
    def __init__(self, start: Callable[[], Awaitable[Zygote]], most: int) -> None:
        self._start = start
        self._places = asyncio.Semaphore(most)
        self._starting = asyncio.Lock()
        self._zygote: Zygote | None = None
        self._idle: list[Worker] = []

    async def take(self) -> Worker:
        """A worker for one program, to be given back after it; waits while as many run as may."""
        await self._places.acquire()
        try:
            return self._idle.pop() if self._idle else await self._new()
        except BaseException:
            self._places.release()
            raise

    def give_back(self, worker: Worker) -> None:
        if worker.used or self._zygote is None:
            worker.close()
        else:
            self._idle.append(worker)
        self._places.release()

    async def close(self) -> None:
        """End everything; the next program starts anew."""
        for worker in self._idle:
            worker.close()
        self._idle.clear()
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            await zygote.close()

    async def _new(self) -> Worker:
        """A fresh worker; when the zygote died meanwhile, of a fresh zygote, once."""
        async with self._starting:
            known = self._zygote
            if known is not None:
                try:
                    return await known.worker()
                except WorkerGone:
                    await self.close()
            self._zygote = await self._start()
            return await self._zygote.worker()
