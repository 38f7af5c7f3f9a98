"""What it costs to run a program in the sandbox, beside not confining it and beside a bubblewrap for each program."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import bare
from bench.confined import TRUE, run_nothing
from bench.scratch import PROGRAM, ROOM, ask, numbered, read_only, scratch_house
from bench.sizes import Sizes
from doorward.app import House

_CALLERS = 16
_WARM_UP = 5
_TURNS = 5

Way = Callable[[], Awaitable[object]]


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    return asyncio.run(_measure(folder, sizes))


async def _measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    async with scratch_house(folder / "spawn") as house:
        found = await _alone(house, sizes)
        return {**found, **await _at_once(house, sizes)}


async def _alone(house: House, sizes: Sizes) -> dict[str, float]:
    """One program after the other. The ways take turns, so that a busy machine spoils all alike."""
    sandbox, profile, numbers = house.services.sandbox, read_only(house), numbered()

    async def raw() -> None:
        bare.run(TRUE)

    async def through_the_gate() -> None:
        await ask(house, PROGRAM, next(numbers), agent="agent", room=ROOM)

    ways: dict[str, Way] = {
        "spawn_raw": raw,
        "spawn": lambda: run_nothing(sandbox, profile),
        "spawn_gate": through_the_gate,
    }
    taken: dict[str, list[float]] = {}
    with bare.wrapped(profile, TRUE) as wrapped:

        async def bwrap() -> None:
            wrapped()

        # Clearing away namespaces keeps the kernel busy after each bubblewrap, so it comes only after several of the
        # others: it would slow down whichever is next.
        rarely: dict[str, Way] = {"spawn_bwrap": bwrap} if (await sandbox.level()).word == "full" else {}
        await _take_turns({**ways, **rarely}, _WARM_UP, {})
        for _ in range(max(1, sizes.spawns // _TURNS)):
            await _take_turns(ways, _TURNS, taken)
            await _take_turns(rarely, 1, taken)
    found = {key: statistics.median(values) * 1e3 for key, values in taken.items()}
    found["spawn_of_raw"] = found["spawn"] / found["spawn_raw"]
    if rarely:
        found["spawn_of_bwrap"] = found["spawn_bwrap"] / found["spawn"]
    return found


async def _take_turns(ways: Mapping[str, Way], turns: int, taken: dict[str, list[float]]) -> None:
    for _ in range(turns):
        for key, way in ways.items():
            begun = time.perf_counter()
            await way()
            taken.setdefault(key, []).append(time.perf_counter() - begun)


async def _at_once(house: House, sizes: Sizes) -> dict[str, float]:
    """So many callers at once, each running a program again when its last one ended."""
    sandbox, profile = house.services.sandbox, read_only(house)
    each = max(1, sizes.spawns // _CALLERS)

    async def ours() -> None:
        for _ in range(each):
            await run_nothing(sandbox, profile)

    def raw(_: int) -> None:
        for _ in range(each):
            bare.run(TRUE)

    rates: dict[str, list[float]] = {"spawns_raw": [], "spawns": []}
    with ThreadPoolExecutor(_CALLERS) as threads:
        await asyncio.gather(*(run_nothing(sandbox, profile) for _ in range(_CALLERS)))  # as many helpers, made before
        for _ in range(sizes.rounds):
            begun = time.perf_counter()
            list(threads.map(raw, range(_CALLERS)))
            rates["spawns_raw"].append(each * _CALLERS / (time.perf_counter() - begun))
            begun = time.perf_counter()
            await asyncio.gather(*(ours() for _ in range(_CALLERS)))
            rates["spawns"].append(each * _CALLERS / (time.perf_counter() - begun))
    found = {key: statistics.median(values) for key, values in rates.items()}
    found["spawns_of_raw"] = statistics.median(
        mine / theirs for mine, theirs in zip(rates["spawns"], rates["spawns_raw"], strict=True)
    )
    return found
