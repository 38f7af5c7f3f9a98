"""Reads the recorded decisions of rooms from the ledger, newest first, within a time limit."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from doorward.commands.context import Context
from doorward.core.errors import Unusable
from doorward.gate.recipes.replay import RecordedDecision
from doorward.store.ledger import queries
from doorward.store.ledger.checkpoints import LedgerPaths
from doorward.store.ledger.record import COLUMNS
from doorward.store.ledger.segments import read_segment

_AT_ONCE = 10_000
"""Records that one read takes before other readers have their turn."""
_COLUMN_INDEXES = [COLUMNS.index(name) for name in RecordedDecision._fields]


class LedgerWalk:
    """Reads the ledger backwards from the end of the span, first the table, then segment files, until time is up."""

    def __init__(
        self,
        ctx: Context,
        add: Callable[[Iterable[RecordedDecision]], None],
        rooms: list[str],
        span: tuple[int, int],
        seconds: float,
    ) -> None:
        """`add` receives the records of these rooms, without the ends of calls."""
        self._ctx = ctx
        self._clock = ctx.services.clock
        self._stop = self._clock.steady() + seconds
        self._rooms = rooms
        self._in = msgspec.json.encode(rooms).decode()
        self._add = add
        self.span = span
        self.reached = span[1]
        """All records since this time were checked."""
        self.problem = ""
        """Why a segment file could not be read."""

    async def run(self) -> None:
        if not self._rooms:
            self.reached = self.span[0]
            return
        if await self._walk_table() and await self._walk_segments():
            self.reached = self.span[0]

    async def _walk_table(self) -> bool:
        """Check the records in the table. True when all were checked."""
        store, tenant = self._ctx.store, self._ctx.caller.tenant
        ends = await store.in_reader(lambda db: queries.seq_range(db, *self.span))
        if ends is None:
            return True
        first, last = ends
        upper = last
        while upper >= first:
            numbers = (max(first, upper - _AT_ONCE + 1), upper)
            self.reached = await store.in_reader(partial(self._read_rows, tenant=tenant, numbers=numbers))
            upper = numbers[0] - 1
            done = last - upper
            self._ctx.execution.progress(done / (last - first + 1), f"{done:,} of {last - first + 1:,} records")
            if upper >= first and self._clock.steady() >= self._stop:
                return False
        return True

    def _read_rows(self, db: sqlite3.Connection, tenant: str, numbers: tuple[int, int]) -> int:
        rows = queries.decisions(db, RecordedDecision._fields, tenant, self._in, numbers, self.span)
        self._add(map(RecordedDecision._make, rows))
        return queries.time_of(db, numbers[0]) or self.reached

    async def _walk_segments(self) -> bool:
        """Check the segment files that overlap the span. True when all were checked."""
        folder = LedgerPaths.of(self._ctx.services.home).segments
        oldest = await self._ctx.store.in_reader(queries.first_time)
        for segment in reversed(await self._ctx.store.in_reader(queries.segments)):
            if oldest is not None and oldest <= self.span[0]:
                return True
            if segment["deleted"]:
                self.problem = f"Records up to {segment['last']} were deleted by the setting ledger.keep_days."
                return False
            file = folder / Path(segment["file"]).name
            try:
                oldest = await self._walk_segment(file, segment["last"] - segment["first"] + 1)
            except Unusable as error:
                self.problem = error.message
                return False
            if oldest is None:
                return False
            self.reached = oldest
        return True

    async def _walk_segment(self, file: Path, records: int) -> int | None:
        """Check one segment file. Return the time of its first record, or None if time was up before its end."""
        rows = read_segment(file)
        begun, done = None, 0
        while True:
            first, count = await asyncio.to_thread(self._read_chunk, rows)
            begun = begun or first
            if not count:
                return begun
            done += count
            self._ctx.execution.progress(min(1.0, done / max(records, 1)), f"archived records of {file.name}")
            if done < records and self._clock.steady() >= self._stop:
                return None

    def _read_chunk(self, rows: Iterator[tuple[Any, ...]]) -> tuple[int | None, int]:
        begun, count = None, 0
        tenant, rooms = self._ctx.caller.tenant, frozenset(self._rooms)
        place = COLUMNS.index("tenant")
        for row in islice(rows, _AT_ONCE):
            count += 1
            past = RecordedDecision._make(row[one] for one in _COLUMN_INDEXES)
            begun = begun or past.at
            if (
                row[place] == tenant
                and past.room in rooms
                and past.phase != "end"
                and self.span[0] <= past.at < self.span[1]
            ):
                self._add([past])
        return begun, count
