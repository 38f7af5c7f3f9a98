"""Whether anything stays behind after very many programs: processes, descriptors, memory."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from pathlib import Path

from bench.apart import descendants, resident, run_apart
from bench.confined import run_nothing, scratch_sandbox
from bench.sizes import Sizes
from doorward.sandbox.program import SandboxProfile
from doorward.sandbox.sandbox import Sandbox

_CALLERS = 16
_WARM_UP = 320


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    before, after = run_apart("bench.leftovers", folder / "leftovers", sizes.programs)
    return {
        "left_processes": after[0] - before[0],
        "left_descriptors": after[1] - before[1],
        "left_memory": (after[2] / before[2] - 1) * 100,
    }


async def live(folder: Path, programs: int) -> list[tuple[int, int, float]]:
    """What this process and its helpers hold after a warm-up, and after so many programs more."""
    async with scratch_sandbox(folder) as (sandbox, profile):
        held = []
        for count in (min(_WARM_UP, programs), programs):
            await _run(sandbox, profile, count)
            gc.collect()
            held.append(_held())
        return held


async def _run(sandbox: Sandbox, profile: SandboxProfile, programs: int) -> None:
    async def caller() -> None:
        for _ in range(max(1, programs // _CALLERS)):
            await run_nothing(sandbox, profile)

    await asyncio.gather(*(caller() for _ in range(_CALLERS)))


def _held() -> tuple[int, int, float]:
    """Processes and megabytes of this process and all its helpers, and the descriptors of this process."""
    processes = [os.getpid(), *descendants(os.getpid())]
    return len(processes), len(os.listdir("/proc/self/fd")), sum(map(resident, processes))


if __name__ == "__main__":
    _folder, _programs = sys.argv[1:]
    print(json.dumps(asyncio.run(live(Path(_folder), int(_programs)))))
