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
from doorward.sandbox.helper_process import parent_of
from doorward.sandbox.inside.messages import encode
from doorward.sandbox.long_running import LongRunningEnd
from doorward.sandbox.namespaced_program import ExecFailed
from doorward.sandbox.worker import Worker, WorkerGone
from doorward.sandbox.zygote import Zygote

_SIGKILL = 9


class ReapedProgram:
    """One long-running program and its reaper process."""

    def __init__(self, worker: Worker, process: int, ends: asyncio.Task[LongRunningEnd]) -> None:
        self._worker = worker
        self._ends = ends
        self.process = process
        self.first = process
        with contextlib.suppress(OSError):  # it has ended already
            self.first = parent_of(process)

    def terminate(self) -> None:
        self._worker.terminate()

    def kill(self) -> None:
        if not self._ends.done():
            self._worker.stop()

    def end_future(self) -> asyncio.Future[LongRunningEnd]:
        return self._ends


class ReaperProcesses:
    """Starts reaper processes from one zygote, which starts on first use."""

    def __init__(self) -> None:
        self._zygote: Zygote | None = None
        self._starting = asyncio.Lock()

    async def start(self, setup: dict[str, Any], streams: tuple[int, ...]) -> ReapedProgram:
        worker = await (await self._get_zygote()).fork_worker("read", setup)
        try:
            begin = {"argv": setup["argv"], "environment": {}, "folder": setup["folder"], "stays": True}
            worker.start_program(encode(begin), streams)
            answer = await worker.wait_started()
            if "error" in answer:
                raise ExecFailed(int(answer["error"]), str(answer["what"]))
        except BaseException:
            worker.close()
            raise
        return ReapedProgram(worker, answer["began"], asyncio.create_task(_wait_for_end(worker)))

    async def close(self) -> None:
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            await zygote.close()

    async def _get_zygote(self) -> Zygote:
        async with self._starting:
            if self._zygote is not None and self._zygote.has_died():
                await self.close()
            if self._zygote is None:
                setup = {"namespaces": False}
                self._zygote = await Zygote.start([], str(Path(view.helper_code_folder()).parent), setup)
            return self._zygote


async def _wait_for_end(worker: Worker) -> LongRunningEnd:
    try:
        answer = await worker.wait_ended()
    except WorkerGone:
        return LongRunningEnd(None, _SIGKILL)
    finally:
        worker.close()
    return LongRunningEnd(answer["code"], answer["signal"])
