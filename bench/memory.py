"""Whether memory stays flat over very many calls. Measured in a process of its own, which has done nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import sys
from pathlib import Path

from bench.apart import resident, run_apart
from bench.house_server import OPEN
from bench.scratch import CHANGE, READ, ROOM, numbered, scratch_house
from bench.sizes import Sizes
from bench.ways import Http, Line, line_clients, token
from doorward.app import House
from doorward.core.model import Credential, Request
from doorward.doors.http.applications import HttpApplications
from doorward.doors.http.server import tune_garbage_collection

_AGENTS = 2_500
_ROOMS = 10
_ALL = _AGENTS * _ROOMS
"""More pairs of agent and room than any table in the gate keeps."""
_DOORS = 8
"""One call of so many comes over HTTP, one through the line door, and the others, which cost less, to the gate."""


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    before, *after = run_apart("bench.memory", folder / "memory", sizes.callers, sizes.warm_up, sizes.lifetime)
    return {"growth": (max(after) / before - 1) * 100}


async def grow(folder: Path, callers: int, warm_up: int, lifetime: int) -> list[float]:
    """The memory after the warm-up, and then from time to time until the end."""
    async with scratch_house(folder, rooms=_ROOMS, settings=OPEN) as house, line_clients(house, callers) as lines:
        http = Http(HttpApplications(house.gate, house.services), await token(house))
        keeping = asyncio.create_task(house.ledger_maintainer.watch())
        numbers = numbered()
        seen = []
        tune_garbage_collection()

        async def caller(calls: int, line: Line) -> None:
            for _ in range(calls):
                number = next(numbers)
                if number % _DOORS == 0:
                    await http.call(number // _DOORS)
                elif number % _DOORS == 1:
                    await line.call(number)
                else:
                    await _any_call(house, number)

        for calls in (warm_up, *[lifetime // 10] * 10):
            await asyncio.gather(*(caller(calls // callers, line) for line in lines))
            gc.collect()
            seen.append(resident(os.getpid()))
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping
        return seen


async def _any_call(house: House, number: int) -> None:
    """Of all sorts: agents in rooms and the owner outside, reads and changes, cached ones, refused ones."""
    pair = number % _ALL
    room = pair // _AGENTS
    owner = number % 50 == 0
    await house.gate.handle(
        Request(
            CHANGE if number % 20 == 1 else READ,
            Credential(owner=True, speak_as="" if owner else f"agent-{pair % _AGENTS}"),
            "bench",
            "" if owner else f"{ROOM}{room}" if room else ROOM,
            {"number": "wrong" if number % 100 == 2 else number},
            response=f"answer-{number // 3}",
            cache=number % 10 == 3,
        )
    )


if __name__ == "__main__":
    _folder, *_numbers = sys.argv[1:]
    print(json.dumps(asyncio.run(grow(Path(_folder), *map(int, _numbers)))))
