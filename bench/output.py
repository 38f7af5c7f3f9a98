"""How soon the output of a program is heard while it runs, and what a flood of it costs in memory."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from pathlib import Path

from bench.apart import peak, resident, run_apart
from bench.confined import run_nothing, scratch_sandbox
from bench.sizes import Sizes
from doorward.sandbox import view
from doorward.sandbox.program import Program

_SAYS_WHEN = "import os, time; os.write(1, str(time.monotonic_ns()).encode()); time.sleep(0.1)"
"""The clock is the same inside and outside. What is heard only at the end is heard too late by all of this sleep."""
_KEPT = 1_000_000


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    late = asyncio.run(_lateness(folder / "heard", sizes.outputs))
    return {
        "output_first": statistics.median(late),
        "output_latest": max(late),
        "output_memory": run_apart("bench.output", folder / "flood", sizes.flood),
    }


async def _lateness(folder: Path, times: int) -> list[float]:
    """The milliseconds from each program's first write until it is heard."""
    python, _ = view.find_python()
    late: list[float] = []

    def hear(_: str, piece: bytes) -> None:
        late.append((time.monotonic_ns() - int(piece)) / 1e6)

    async with scratch_sandbox(folder) as (sandbox, profile):
        program = Program(argv=(python, "-I", "-S", "-c", _SAYS_WHEN))
        for _ in range(times):
            await sandbox.run(profile, program, hear)
    return late


async def _flood(folder: Path, size: int) -> float:
    """By how many megabytes the most memory this process ever had exceeds what it had before so much output."""
    async with scratch_sandbox(folder) as (sandbox, profile):
        await run_nothing(sandbox, profile)
        before = resident(os.getpid())
        program = Program(argv=("head", "-c", str(size), "/dev/zero"), output_bytes=_KEPT)
        ended = await sandbox.run(profile, program, lambda stream, piece: None)
        if ended.stdout_bytes != size:
            raise RuntimeError(f"{size} bytes of output were to be measured, but there were {ended.stdout_bytes}")
        return peak(os.getpid()) - before


if __name__ == "__main__":
    _folder, _size = sys.argv[1:]
    print(json.dumps(asyncio.run(_flood(Path(_folder), int(_size)))))
