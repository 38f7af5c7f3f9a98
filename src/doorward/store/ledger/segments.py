"""Segment files: archived records of the ledger, and their deletion after the time that the settings give."""

from __future__ import annotations

import gzip
import logging
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from doorward.config.home import fsync_folder
from doorward.core.clock import Clock
from doorward.core.errors import Unusable
from doorward.core.model import ANONYMOUS
from doorward.core.strictjson import DECODE_ERRORS
from doorward.store.ledger import queries as sql
from doorward.store.ledger import record
from doorward.store.ledger.record import Entry
from doorward.store.sqlite import Store

log = logging.getLogger(__name__)

SEGMENT_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
"""The first bytes of a segment file: a gzip header without name and time."""
PENDING = "pending_segment"
"""The key of the stored name of the segment file that is being made, or was made last."""
_AT = record.COLUMNS.index("at")
_DAY = 86_400_000_000
_encode = msgspec.json.Encoder().encode


def segment_name(first: int, last: int) -> str:
    return f"records-{first:012d}-{last:012d}.jsonl.gz"


def segment_files(folder: Path) -> set[str]:
    """The names of the segment files in a folder, registered or not."""
    return {file.name for file in folder.glob("records-*.jsonl.gz")}


def read_segment(file: Path) -> Iterator[tuple[Any, ...]]:
    """The rows of a segment file in order; raises Unusable if the file was changed."""
    try:
        with gzip.open(file, "rb") as lines:
            for line in lines:
                value = msgspec.json.decode(line, type=dict[str, Any])
                if tuple(value) != record.COLUMNS:
                    raise msgspec.ValidationError("a line does not have the fields of a record")
                yield tuple(value.values())
    except (OSError, EOFError, zlib.error, *DECODE_ERRORS) as error:
        raise Unusable(f"The segment {file} cannot be read: {error}.", hint="See: doorward audit verify") from error


def sign_deletion(key: bytes, segment: dict[str, Any]) -> str:
    return record.sign(key, "deleted segment", *_identity(segment))


def is_deletion_signed(key: bytes, segment: dict[str, Any]) -> bool:
    return record.is_signed(key, segment["deleted"], "deleted segment", *_identity(segment))


async def delete_expired(
    store: Store, folder: Path, key: bytes, clock: Clock, tenant: str, keep_days: float
) -> list[str]:
    """Delete the oldest segments whose records are all older than `keep_days`, each with a record of its deletion.

    The database keeps the segment's place in the chain, so that the rest still verifies. Returns their names.
    """
    before = clock.wall_us() - int(keep_days * _DAY)
    registered = await store.in_reader(sql.segments)
    gone = {one["file"] for one in registered if one["deleted"]}
    expired = await store.in_reader(lambda db: _find_expired(db, folder, before))
    for segment in expired:
        first, last = segment["first"], segment["last"]
        note = f"The archived records {first} to {last} were deleted after {keep_days:g} days (ledger.keep_days)."
        entry = _deletion_entry(clock.wall_us(), tenant, segment, note)
        await store.write(sql.mark_deleted(first, sign_deletion(key, segment)), entries=[entry])
        gone.add(segment["file"])
        log.info("%s", note)
    left = gone & segment_files(folder)  # also those that a crash left behind
    for name in left:
        (folder / name).unlink()
    if left:
        fsync_folder(folder)
    return [segment["file"] for segment in expired]


def _find_expired(db: sqlite3.Connection, folder: Path, before: int) -> list[dict[str, Any]]:
    """The segments to delete. The first record after a segment tells how old its last one is at least."""
    kept = [one for one in sql.segments(db) if not one["deleted"]]
    expired = []
    for segment, following in zip(kept, [*kept[1:], None], strict=True):
        if following is None:
            ended = sql.first_time(db)
        else:
            ended = int(next(read_segment(folder / Path(following["file"]).name))[_AT])
        if ended is None or ended > before:
            break
        expired.append(segment)
    return expired


def _identity(segment: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(segment[name] for name in ("first", "last", "file", "prev", "hash"))


def _deletion_entry(at: int, tenant: str, segment: dict[str, Any], note: str) -> Entry:
    return Entry(
        at=at,
        phase="whole",
        call="",
        tenant=tenant,
        caller="doorward",
        kind=ANONYMOUS.kind,
        behalf="",
        door="",
        room="",
        command="audit/delete",
        tier="system",
        params=_encode({name: segment[name] for name in ("file", "first", "last", "hash")}).decode(),
        digest="",
        rule="ledger.keep_days",
        approval="",
        reserved=0.0,
        spent=0.0,
        status="done",
        code="ok",
        note=note,
        duration=0,
    )
