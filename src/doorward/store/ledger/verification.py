"""Verification of the whole hash chain, including segment files. Reports the first mismatch."""

from __future__ import annotations

import gzip
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from doorward.core.errors import Unusable
from doorward.core.strictjson import DECODE_ERRORS
from doorward.store import kv
from doorward.store.ledger import checkpoints, record
from doorward.store.ledger import queries as sql
from doorward.store.ledger.checkpoints import LedgerPaths
from doorward.store.ledger.maintenance import NOTED, SEGMENT_HEAD
from doorward.store.sqlite import open_for_reading, unusable

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""SQLite errors that mean a damaged database. A locked or unreadable one says nothing about its records."""


class Finding(msgspec.Struct, frozen=True):
    """The result of a verification. `broken` is empty if there is no mismatch."""

    records: int
    head: str
    checkpoints: int
    segments: int
    broken: str = ""


class _Mismatch(Exception):
    """A mismatch in the chain; the message says where."""


def verify(paths: LedgerPaths, key: bytes) -> Finding:
    """Check every record, its position, the signed ends and the checkpoints. Read-only."""
    db = open_for_reading(paths.database)
    seen = _ChainWalk(key)
    try:
        db.execute("BEGIN")
        anchors = checkpoints.read(paths.checkpoints)
        seen.expect(anchors)
        found = sql.segments(db)
        seen.count(kv.read(db, NOTED), paths.checkpoints)
        for segment in found:
            seen.segment(paths.segments, segment)
        for row in sql.rows(db):
            seen.row(row)
        seen.end(sql.head(db))
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _DAMAGE:
            raise unusable(error, paths.database) from error
        return Finding(seen.seq, seen.hash, len(seen.anchors), 0, f"the database is damaged: {error}")
    except _Mismatch as bad:
        return Finding(seen.seq, seen.hash, len(seen.anchors), 0, str(bad))
    finally:
        db.close()
    return Finding(seen.seq, seen.hash, len(anchors), len(found))


class _ChainWalk:
    """One pass over the chain. Holds only the current position."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.seq = 0
        self.hash = record.GENESIS
        self.anchors: dict[int, str] = {}
        self._last_anchor = 0

    def expect(self, anchors: list[checkpoints.Checkpoint | None]) -> None:
        for number, anchor in enumerate(anchors, 1):
            if anchor is None or not anchor.is_genuine(self._key):
                raise _Mismatch(f"checkpoint {number} has no valid signature of this server")
            if anchor.seq <= self._last_anchor:
                raise _Mismatch(f"checkpoint {number} does not follow the previous one")
            self.anchors[anchor.seq] = anchor.hash
            self._last_anchor = anchor.seq

    @staticmethod
    def count(noted: str | None, file: Path) -> None:
        """Compare the stored number with the current file: a running server may have signed more since."""
        known = int(noted) if noted is not None and noted.isdecimal() else 0
        there = len(checkpoints.read(file))
        if there < known:
            raise _Mismatch(f"{known} checkpoints were signed, but the file has {there}")

    def segment(self, folder: Path, segment: dict[str, Any]) -> None:
        name, last = segment["file"], segment["last"]
        parts = (segment["first"], last, name, segment["prev"], segment["hash"])
        if not record.is_signed(self._key, segment["signature"], "segment", *parts):
            raise _Mismatch(f"the entry of segment {name} has no valid signature of this server")
        file = folder / Path(name).name
        try:
            with file.open("rb") as raw:
                if raw.read(len(SEGMENT_HEAD)) != SEGMENT_HEAD:
                    raise _Mismatch(f"the header of segment {name} was changed")
            for row in read_segment(file):
                self.row(row)
        except OSError as error:
            raise _Mismatch(f"segment {name} cannot be read: {error.strerror}") from error
        except Unusable as error:
            raise _Mismatch(f"segment {name} cannot be read: {error.__cause__}") from error
        if self.seq != last or self.hash != segment["hash"]:
            raise _Mismatch(f"segment {name} ends at record {self.seq}, but was written up to record {last}")

    def row(self, row: tuple[Any, ...]) -> None:
        expected = self.seq + 1
        try:
            line = record.record_from_row(row)
        except msgspec.ValidationError as error:
            raise _Mismatch(f"record {expected} has an invalid value: {error}") from error
        if line.seq != expected:
            raise _Mismatch(f"record {expected} is missing; the next one is {line.seq}")
        if line.prev != self.hash:
            raise _Mismatch(f"record {line.seq} does not follow the previous record")
        if record.chain_hash(line.seq, line.entry, line.prev) != line.hash:
            raise _Mismatch(f"record {line.seq} was changed after it was written")
        if self.anchors.get(line.seq, line.hash) != line.hash:
            raise _Mismatch(f"record {line.seq} does not match its signed checkpoint")
        self.seq, self.hash = line.seq, line.hash

    def end(self, head: tuple[int, str, str] | None) -> None:
        if self._last_anchor > self.seq:
            raise _Mismatch(
                f"the ledger ends at record {self.seq}, but record {self._last_anchor} has a signed checkpoint"
            )
        if head is None and self.seq == 0:
            return  # created but never written to: the process died before the first record
        if head is None or not record.is_signed(self._key, head[2], "head", head[0], head[1]):
            raise _Mismatch("the end of the ledger has no valid signature of this server")
        if head[:2] != (self.seq, self.hash):
            raise _Mismatch(f"the ledger ends at record {self.seq}, but its signed end is record {head[0]}")


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
