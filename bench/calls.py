"""What the gate costs, and how many calls it records in a second."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from bench.plain import Plain
from bench.scratch import CHANGE, READ, ROOM, ask_at_once, numbered, scratch_house
from bench.sizes import Sizes
from doorward.app import House
from doorward.store.ledger import queries

_STEPS = 1_000_000


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    return asyncio.run(_measure(folder, sizes))


async def _measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    """Each round measures everything once, so that a busy machine spoils all numbers alike."""
    rounds: dict[str, list[float]] = {}

    def note(key: str, value: float) -> None:
        rounds.setdefault(key, []).append(value)

    async with scratch_house(folder / "calls") as house:
        with Plain(folder / "plain.db") as plain:
            numbers = numbered()
            await ask_at_once(house, READ, numbers, callers=sizes.callers, calls=sizes.calls, room=ROOM)
            (row,) = await house.services.store.in_reader(lambda db: queries.newest(db, 1))
            for _ in range(sizes.rounds):
                wall, cpu = await _timed(house, READ, numbers, sizes.callers, sizes.calls, ROOM)
                note("gate", cpu * 1e6)
                note("calls", 1 / wall)
                rows = plain.copies(row, sizes.calls)
                begun = time.perf_counter()
                plain.append(rows, sizes.callers)
                note("plain", sizes.calls / (time.perf_counter() - begun))
                note("of_plain", rounds["calls"][-1] / rounds["plain"][-1])
                _, cpu = await _timed(house, READ, numbers, sizes.callers, sizes.calls, "")
                note("gate_outside", cpu * 1e6)
                _, cpu = await _timed(house, READ, numbers, 1, max(1, sizes.calls // 8), ROOM)
                note("gate_single", cpu * 1e6)
                wall, _ = await _timed(house, CHANGE, numbers, sizes.callers, max(1, sizes.calls // 4), ROOM)
                note("changes", 1 / wall)
                note("step", _step() * 1e9)
    return {key: statistics.median(values) for key, values in rounds.items()}


async def _timed(
    house: House, command: str, numbers: Iterator[int], callers: int, calls: int, room: str
) -> tuple[float, float]:
    """The seconds of one call: by the clock on the wall, and of the processor in all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    await ask_at_once(house, command, numbers, callers=callers, calls=calls, room=room)
    done = max(1, calls // callers) * callers
    return (time.perf_counter() - wall) / done, (time.process_time() - cpu) / done


def _step() -> float:
    """The seconds of one step of a Python loop: what this machine is worth at this moment."""
    begun = time.process_time()
    for _ in range(_STEPS):
        pass
    return (time.process_time() - begun) / _STEPS
