"""Signed statements of where the ledger ended, kept in a file of their own beside the database.

The database signs its own end with every commit. Whoever can replace the whole database with an older copy is
still contradicted by this file, and by any copy of it kept elsewhere.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from doorward.record import is_signed, sign
from doorward.store.sqlite import Head


class Checkpoint(msgspec.Struct, frozen=True):
    seq: int
    hash: str
    at: int
    """Microseconds since 1970."""
    signature: str

    def is_genuine(self, key: bytes) -> bool:
        return is_signed(key, self.signature, "checkpoint", self.seq, self.hash, self.at)


def append(file: Path, key: bytes, head: Head, at: int) -> None:
    checkpoint = Checkpoint(head.seq, head.hash, at, sign(key, "checkpoint", head.seq, head.hash, at))
    line = msgspec.json.encode(checkpoint) + b"\n"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, line)
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


def _parsed(line: bytes) -> Checkpoint | None:
    try:
        return msgspec.json.decode(line, type=Checkpoint)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
