"""Signed statements of where the ledger ended, kept in a file of their own beside the database.

The database signs its own end with every commit. Whoever can replace the whole database with an older copy is
still contradicted by this file, and by any copy of it kept elsewhere.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec

from doorward.record import is_signed, sign
from doorward.store.sqlite import Head

_LONGEST = 4_096
"""More than the longest line takes, in bytes."""


class Checkpoint(msgspec.Struct, frozen=True):
    seq: int
    hash: str
    at: int
    """Microseconds since 1970."""
    signature: str

    def is_genuine(self, key: bytes) -> bool:
        return is_signed(key, self.signature, "checkpoint", self.seq, self.hash, self.at)


def append(file: Path, key: bytes, head: Head, at: int) -> None:
    """Add a line, whole or not at all. A line that a crash or a full disk cut is taken away first."""
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
    """The checkpoints in order; None for a line that is none. A last line cut by a crash is left out."""
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return []
    return [_parsed(line) for line in text.split(b"\n")[:-1]]


def _end_of_lines(descriptor: int) -> int:
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, _LONGEST, max(0, size - _LONGEST))
    return size - len(tail) + tail.rfind(b"\n") + 1


def _parsed(line: bytes) -> Checkpoint | None:
    try:
        return msgspec.json.decode(line, type=Checkpoint)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
