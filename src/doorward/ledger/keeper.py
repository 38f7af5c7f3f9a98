"""Looks after a ledger in use: finishes what a crash left open, signs checkpoints, moves old records out."""

from __future__ import annotations

import asyncio
import gzip
import logging
import os
from pathlib import Path

import msgspec

from doorward import record
from doorward.clock import Clock
from doorward.errors import Interrupted
from doorward.ledger import checkpoints
from doorward.ledger.paths import LedgerPaths
from doorward.settings import Settings
from doorward.store import ledger as sql
from doorward.store.sqlite import Store, open_for_reading

log = logging.getLogger(__name__)


class Keeper:
    def __init__(self, paths: LedgerPaths, store: Store, key: bytes, clock: Clock, settings: Settings) -> None:
        self._paths = paths
        self._store = store
        self._key = key
        self._clock = clock
        self._settings = settings.ledger
        self._signed = 0

    async def recover(self) -> int:
        """Give every call that a dead process left open its one end. Returns how many there were."""
        lost = await sql.open_calls(self._store)
        for row in lost:
            start = record.from_row(tuple(row[name] for name in record.COLUMNS)).entry
            end = msgspec.structs.replace(
                start,
                at=self._clock.wall_us(),
                phase="end",
                params="",
                status="failed",
                code=Interrupted.code,
                note="Doorward stopped while this ran; whether it had an effect is not known.",
            )
            await self._store.write(entries=[end])
        if lost:
            log.warning("%d calls were interrupted by the end of an earlier process", len(lost))
        return len(lost)

    def checkpoint(self) -> None:
        """Sign the present end, unless that was done already."""
        head = self._store.head
        if head.seq > self._signed:
            self._paths.checkpoints.parent.mkdir(mode=0o700, exist_ok=True)
            checkpoints.append(self._paths.checkpoints, self._key, head, self._clock.wall_us())
            self._signed = head.seq

    async def watch(self) -> None:
        """Sign a checkpoint every so many records, and whenever it was quiet; rotate when the ledger is large."""
        while True:
            before = self._store.head.seq
            await asyncio.sleep(1.0)
            now = self._store.head.seq
            try:
                if now - self._signed >= self._settings.checkpoint_every or (now == before and now > self._signed):
                    await asyncio.to_thread(self.checkpoint)
                if await sql.length(self._store) >= self._settings.rotate_at:
                    await self.rotate(self._settings.rotate_at // 2)
            except OSError as error:
                log.warning("the ledger's checkpoint could not be written: %s", error)

    async def rotate(self, keep: int) -> Path | None:
        """Move all but the newest `keep` records to a file that verifies in its place; None when there are none."""
        last = self._store.head.seq - keep
        written = await asyncio.to_thread(self._write_segment, last)
        if written is None:
            return None
        file, first, prev, hash_ = written
        parts = (first, last, file.name, prev, hash_)
        await self._store.write(*sql.move_out(*parts, record.sign(self._key, "segment", *parts)))
        log.info("records %d to %d moved to %s", first, last, file.name)
        return file

    def _write_segment(self, last: int) -> tuple[Path, int, str, str] | None:
        db = open_for_reading(self._paths.database)
        self._paths.segments.mkdir(mode=0o700, exist_ok=True)
        partial = self._paths.segments / "segment.partial"
        first, prev, hash_ = 0, "", ""
        try:
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as raw:
                with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as out:
                    for row in sql.rows(db):
                        line = record.from_row(row)
                        if line.seq > last:
                            break
                        if not first:
                            first, prev = line.seq, line.prev
                        hash_ = line.hash
                        out.write(msgspec.json.encode(line.as_dict()) + b"\n")
                raw.flush()
                os.fsync(raw.fileno())
            if not first:
                return None
            file = self._paths.segments / f"records-{first:012d}-{last:012d}.jsonl.gz"
            partial.rename(file)
            return file, first, prev, hash_
        finally:
            partial.unlink(missing_ok=True)
            db.close()
