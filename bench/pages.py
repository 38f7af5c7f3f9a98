"""How long a page of a large ledger takes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from bench.scratch import READ, ask, scratch_house
from bench.sizes import Sizes
from doorward.app import House
from doorward.core.ids import new_id
from doorward.core.model import Credential, Request
from doorward.store.ledger import counts, queries
from doorward.store.ledger.record import Record, record_from_row
from doorward.store.sqlite import open_for_reading

_AT_ONCE = 10_000
PAGE = 50
_MONTH = 30 * 86_400 * 1_000_000
"""Microseconds over which the records are spread."""


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    return asyncio.run(_measure(folder, sizes))


async def _measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    async with scratch_house(folder / "pages") as house:
        await _fill(house, sizes.rows)
        await _counted(house)
        with contextlib.closing(open_for_reading(house.home.database)) as db:
            newest = _median(sizes.pages, lambda: [record_from_row(row) for row in queries.newest(db, PAGE)])
            starts = itertools.cycle(range(sizes.rows // 4, sizes.rows * 3 // 4, max(1, sizes.rows // 100)))
            middle = _median(
                sizes.pages,
                lambda: [record_from_row(row) for row in itertools.islice(queries.rows(db, after=next(starts)), PAGE)],
            )
        through = []
        for _ in range(sizes.pages):
            begun = time.perf_counter()
            await _list(house)
            through.append(time.perf_counter() - begun)
        whole = []
        for _ in range(sizes.pages):
            begun = time.perf_counter()
            await asyncio.gather(_list(house), _chart(house))
            whole.append(time.perf_counter() - begun)
    return {
        "page_newest": newest,
        "page_middle": middle,
        "page_gate": statistics.median(through) * 1e3,
        "page_console": statistics.median(whole) * 1e3,
    }


async def _fill(house: House, rows: int) -> None:
    """Copies of one true record under new names, as of a month, sealed and stored by the store itself."""
    await ask(house, READ, 1)
    (row,) = await house.services.store.in_reader(lambda db: queries.newest(db, 1))
    entry = record_from_row(row).entry
    for start in range(0, rows, _AT_ONCE):
        count = min(_AT_ONCE, rows - start)
        ages = [int((rows - start - n) / rows * _MONTH) for n in range(count)]
        entries = [msgspec.structs.replace(entry, at=entry.at - age, call=new_id()) for age in ages]
        await house.services.store.write(entries=entries, durable=False)


async def _counted(house: House) -> None:
    """Let the keeper count what a server would have counted while the records came."""
    store = house.services.store
    before = -1
    while before != (before := await store.in_reader(counts.last_counted)):
        await house.ledger_maintainer.count()


async def _list(house: House) -> None:
    await _asked(house, "data/list", {"collection": "audit", "orderBy": "-id", "limit": PAGE})


async def _chart(house: House) -> None:
    await _asked(house, "audit/timeline", {"since": "31d"})


async def _asked(house: House, command: str, params: dict[str, Any]) -> None:
    outcome = await house.gate.handle(Request(command, Credential(owner=True), "bench", "", params))
    if outcome.status != "done":
        raise RuntimeError(f"{command} was to be measured, but it was {outcome.status}: {outcome.message}")


def _median(times: int, page: Callable[[], list[Record]]) -> float:
    """The milliseconds of a page, in the middle of so many."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        page()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e3
