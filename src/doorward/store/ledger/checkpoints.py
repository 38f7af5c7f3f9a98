"""Checkpoints: signed statements of where the ledger ended, in a separate file beside the database.

The database signs its own end with every commit. If somebody replaces the whole database with an older copy, this file,
or any copy of it stored elsewhere, proves it.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec

from doorward.core.strictjson import DECODE_ERRORS
from doorward.store.ledger.record import is_signed, sign
from doorward.store.sqlite import Head

_LONGEST = 4_096
"""More bytes than the longest line."""


class Checkpoint(msgspec.Struct, frozen=True):
    seq: int
    hash: str
    at: int
    """Microseconds since 1970."""
    signature: str

    def is_genuine(self, key: bytes) -> bool:
        return is_signed(key, self.signature, "checkpoint", self.seq, self.hash, self.at)


def append(file: Path, key: bytes, head: Head, at: int) -> None:
    """Append a line atomically. First removes a line that a crash or a full disk cut off."""
    checkpoint = Checkpoint(head.seq, head.hash, at, sign(key, "checkpoint", head.seq, head.hash, at))
    line = msgspec.json.encode(checkpoint) + b"\n"
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        end = _end_of_lines(descriptor)
        os.ftruncate(descriptor, end)
        if os.pwrite(descriptor, line, end) != len(line):
            os.ftruncate(descriptor, end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(file: Path) -> list[Checkpoint | None]:
    """The checkpoints in order; None for a malformed line. A last line that a crash cut off is left out."""
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return []
    return [_parse_line(line) for line in text.split(b"\n")[:-1]]


def _end_of_lines(descriptor: int) -> int:
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, _LONGEST, max(0, size - _LONGEST))
    return size - len(tail) + tail.rfind(b"\n") + 1


def _parse_line(line: bytes) -> Checkpoint | None:
    try:
        return msgspec.json.decode(line, type=Checkpoint)
    except DECODE_ERRORS:
        return None


class LedgerPaths(msgspec.Struct, frozen=True):
    database: Path
    checkpoints: Path
    segments: Path

    @classmethod
    def of(cls, home: Path) -> LedgerPaths:
        return cls(home / "doorward.db", home / "ledger" / "checkpoints.jsonl", home / "ledger")
