"""Long-running programs without namespaces: each has a reaper process that adopts and kills its orphans.

Only a PID namespace ends the children of a dead process, so here one small process stays beside each program. All of
them are forks of one zygote and share its memory.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from doorward.sandbox import view
from doorward.sandbox.enclosed import NotBecome
from doorward.sandbox.inside.messages import encoded
from doorward.sandbox.kept import KeptEnd
from doorward.sandbox.spawning import parent_of
from doorward.sandbox.worker import Worker, WorkerGone
from doorward.sandbox.zygote import Zygote

_KILLED = 9


class Nursed:
    """One long-running program and its reaper process."""

    def __init__(self, worker: Worker, process: int, ends: asyncio.Task[KeptEnd]) -> None:
        self._worker = worker
        self._ends = ends
        self.process = process
        self.first = process
        with contextlib.suppress(OSError):  # it has ended already
            self.first = parent_of(process)

    def ask_to_end(self) -> None:
        self._worker.ask_to_end()

    def kill(self) -> None:
        if not self._ends.done():
            self._worker.stop()

    def gone(self) -> asyncio.Future[KeptEnd]:
        return self._ends


class Nursing:
    """Starts reaper processes from one zygote, which starts on first use."""

    def __init__(self) -> None:
        self._zygote: Zygote | None = None
        self._starting = asyncio.Lock()

    async def start(self, setup: dict[str, Any], streams: tuple[int, ...]) -> Nursed:
        worker = await (await self._living()).worker("read", setup)
        try:
            begin = {"argv": setup["argv"], "environment": {}, "folder": setup["folder"], "stays": True}
            worker.begin(encoded(begin), streams)
            answer = await worker.began()
            if "error" in answer:
                raise NotBecome(int(answer["error"]), str(answer["what"]))
        except BaseException:
            worker.close()
            raise
        return Nursed(worker, answer["began"], asyncio.create_task(_ended(worker)))

    async def close(self) -> None:
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            await zygote.close()

    async def _living(self) -> Zygote:
        async with self._starting:
            if self._zygote is not None and self._zygote.died():
                await self.close()
            if self._zygote is None:
                setup = {"namespaces": False}
                self._zygote = await Zygote.start([], str(Path(view.inside()).parent), setup)
            return self._zygote


async def _ended(worker: Worker) -> KeptEnd:
    try:
        answer = await worker.ended()
    except WorkerGone:
        return KeptEnd(None, _KILLED)
    finally:
        worker.close()
    return KeptEnd(answer["code"], answer["signal"])
