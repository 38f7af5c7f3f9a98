"""Ledger maintenance: recovery after a crash, signed checkpoints, and rotation of old records."""

from __future__ import annotations

import asyncio
import gzip
import logging
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from doorward.config.home import fsync_folder
from doorward.config.settings import Settings
from doorward.core.clock import Clock
from doorward.core.errors import DoorwardError, Interrupted, Unusable
from doorward.store import kv
from doorward.store.ledger import checkpoints, counts, record, segments
from doorward.store.ledger import queries as sql
from doorward.store.ledger.checkpoints import LedgerPaths
from doorward.store.sqlite import Head, Store, open_for_reading

log = logging.getLogger(__name__)

NOTED = "checkpoints"
"""The key of the stored number of signed checkpoints."""
_STRETCH = 2_500
"""Records counted at once; takes a reader a few hundredths of a second."""
_STRETCHES = 20
"""Ranges counted per turn, so that a ledger that was never counted catches up gradually."""
_RETENTION_INTERVAL = 3_600.0
"""Seconds between two searches for segments that may be deleted."""


class EndCharge(Protocol):
    """Energy that is charged in the same write as an end record."""

    @property
    def amount(self) -> float: ...

    async def write(self, *, entries: Sequence[record.Entry]) -> object: ...


class LedgerMaintainer:
    def __init__(
        self, paths: LedgerPaths, store: Store, key: bytes, clock: Clock, settings: Settings, tenant: str
    ) -> None:
        """`tenant` is the one whose ledger shows what the maintenance itself did."""
        self._paths = paths
        self._store = store
        self._key = key
        self._clock = clock
        self._settings = settings.ledger
        self._tenant = tenant
        self._retention_due = 0.0
        self._signed = 0
        self._checkpoints = 0
        self._signing = threading.Lock()

    async def recover(self, charge: Callable[[record.Entry], EndCharge | None] = lambda _: None) -> int:
        """Write the missing end record of every call that a dead process left open. Returns their number.

        `charge` gives the charge for such a call, which is stored with the record.
        Raises Unusable if the database ends before a signed checkpoint: it has lost records and must not be written to.
        """
        noted = await kv.get(self._store, NOTED)
        self._load_signed(await asyncio.to_thread(checkpoints.read, self._paths.checkpoints), int(noted or 0))
        lost = await sql.open_calls(self._store)
        for row in lost:
            start = record.record_from_row(tuple(row[name] for name in record.COLUMNS)).entry
            charged = charge(start)
            end = msgspec.structs.replace(
                start,
                at=self._clock.wall_us(),
                spent=charged.amount if charged is not None else 0.0,
                phase="end",
                params="",
                status="failed",
                code=Interrupted.code,
                note="Doorward stopped while this ran; whether it had an effect is not known.",
            )
            await (self._store if charged is None else charged).write(entries=[end])
        if lost:
            log.warning("%d calls were interrupted when an earlier process ended", len(lost))
        return len(lost)

    async def checkpoint(self) -> None:
        """Sign the current end of the ledger, unless it is already signed.

        The first write forces all earlier records to the disk, so that after a power cut the database does not end
        before the checkpoint. The second write stores the number of checkpoints, so that none can be removed unnoticed.
        """
        head = self._store.head
        if head.seq <= self._signed:
            return
        await self._store.write(kv.put(NOTED, str(self._checkpoints)))
        await asyncio.to_thread(self._append, head)
        await self._store.write(kv.put(NOTED, str(self._checkpoints)), durable=False)

    async def watch(self) -> None:
        """Sign a checkpoint after a number of records and whenever the ledger is idle; rotate when it is large.

        Failed writes are retried: a full disk does not stop this task.
        """
        while True:
            before = self._store.head.seq
            await asyncio.sleep(1.0)
            now = self._store.head.seq
            try:
                if self._store.has_owed_entries:
                    await self._store.write()
                if now - self._signed >= self._settings.checkpoint_every or (now == before and now > self._signed):
                    await self.checkpoint()
                await self.count()
                if await sql.length(self._store) >= self._settings.rotate_at:
                    await self.rotate(self._settings.rotate_at // 2)
                if self._clock.steady() >= self._retention_due:
                    self._retention_due = self._clock.steady() + _RETENTION_INTERVAL
                    await self.delete_expired_segments()
            except (OSError, DoorwardError) as error:
                log.warning("ledger maintenance failed: %s", error)

    async def count(self) -> None:
        """Count a range of records that are no longer among the newest. The next turn continues."""
        for _ in range(_STRETCHES):
            after = await self._store.in_reader(counts.last_counted)
            upto = min(after + _STRETCH, self._store.head.seq - counts.NEWEST)
            if upto - after < _STRETCH:
                return
            tallied = await self._store.in_reader(partial(counts.tally, after=after, upto=upto))
            await self._store.write(*counts.add(tallied, upto), durable=False)

    async def delete_expired_segments(self) -> list[str]:
        """Delete archived segments that are older than the setting `ledger.keep_days` allows. Returns their names."""
        days = self._settings.keep_days
        if not days:
            return []
        folder = self._paths.segments
        return await segments.delete_expired(self._store, folder, self._key, self._clock, self._tenant, days)

    async def rotate(self, keep: int) -> Path | None:
        """Move all but the newest `keep` records to a segment file; None if there are none.

        The start record of a running call stays, with all later records, because recovery looks for it in the table.
        Verification reads the file in place of the moved records.
        """
        last = self._store.head.seq - keep
        running = await sql.open_calls(self._store)
        if running:
            last = min(last, int(running[0]["seq"]) - 1)
        first = await self._store.in_reader(sql.first_seq)
        if first is None or first > last:
            return None
        file = self._paths.segments / segments.segment_name(first, last)
        await self._remove_unfinished()
        await self._store.write(kv.put(segments.PENDING, file.name))  # if the process dies, the file is known by this
        prev, hash_ = await asyncio.to_thread(self._write_segment, file, last)
        parts = (first, last, file.name, prev, hash_)
        moved = sql.move_out(*parts, record.sign(self._key, "segment", *parts))
        await self._store.write(*moved, counts.forget(last))
        log.info("records %d to %d moved to %s", first, last, file.name)
        return file

    def _load_signed(self, signed: list[checkpoints.Checkpoint | None], noted: int) -> None:
        """Load what earlier processes signed. If checkpoints are missing, their stored number is kept as evidence."""
        self._checkpoints = max(noted, len(signed))
        self._signed = max((one.seq for one in signed if one is not None and one.is_genuine(self._key)), default=0)
        if self._signed > self._store.head.seq:
            raise Unusable(
                f"The database {self._paths.database} ends at record {self._store.head.seq}, but record "
                f"{self._signed} has a signed checkpoint: records are missing.",
                hint=f"Restore the newest backup. To continue without them, move {self._paths.checkpoints} away; "
                "`doorward audit verify` will then report it.",
            )

    def _append(self, head: Head) -> None:
        """Runs on a thread that continues if the waiting task is cancelled. The lock keeps a second one out."""
        with self._signing:
            if head.seq <= self._signed:
                return
            self._paths.checkpoints.parent.mkdir(mode=0o700, exist_ok=True)
            checkpoints.append(self._paths.checkpoints, self._key, head, self._clock.wall_us())
            self._signed = head.seq
            self._checkpoints += 1

    async def _remove_unfinished(self) -> None:
        """Remove the file of a rotation that was interrupted. Its records are still in the database."""
        name = await kv.get(self._store, segments.PENDING)
        known = {one["file"] for one in await self._store.in_reader(sql.segments)}
        if name is not None and name not in known:
            (self._paths.segments / Path(name).name).unlink(missing_ok=True)

    def _write_segment(self, file: Path, last: int) -> tuple[str, str]:
        """Write the records up to `last`. Returns the hash before the first and the hash of the last."""
        db = open_for_reading(self._paths.database)
        self._paths.segments.mkdir(mode=0o700, exist_ok=True)
        unfinished = self._paths.segments / "segment.partial"
        prev, hash_ = "", ""
        try:
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as raw:
                with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as out:
                    for row in sql.rows(db):
                        line = record.record_from_row(row)
                        if line.seq > last:
                            break
                        prev, hash_ = prev or line.prev, line.hash
                        out.write(msgspec.json.encode(line.as_dict()) + b"\n")
                raw.flush()
                os.fsync(raw.fileno())
            unfinished.rename(file)
            fsync_folder(self._paths.segments)
            return prev, hash_
        finally:
            unfinished.unlink(missing_ok=True)
            db.close()
