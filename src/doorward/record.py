"""One line of the ledger: what is recorded of a call, and how a line is bound to the one before it."""

from __future__ import annotations

import hashlib
import hmac
from typing import Literal

import msgspec

GENESIS = "0" * 64
"""What stands in place of a previous hash before the first record."""

Phase = Literal["start", "end", "whole"]
"""A change is recorded at its start and at its end; what only reads, and what is refused, as a whole."""

_THOUGHT = "(thought of by the keeper in agent/ask "


def thought(note: str, request: str) -> str:
    """A note and, behind it, the request in which the keeper thought of the call; so the chain ties the two."""
    return f"{note} {_THOUGHT}{request})".lstrip() if request else note


def thinker(note: str) -> str:
    """What a note says of who thought of the call; empty when nobody here did."""
    at = note.rfind(_THOUGHT)
    return note[at:] if at >= 0 else ""


class Entry(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What a call leaves behind, before it has its place in the chain. `at` and `duration` in microseconds."""

    at: int
    phase: Phase
    call: str
    tenant: str
    caller: str
    kind: str
    behalf: str
    door: str
    room: str
    command: str
    tier: str
    params: str
    digest: str
    rule: str
    approval: str
    reserved: float
    spent: float
    status: str
    code: str
    note: str
    duration: int


class Record(msgspec.Struct, frozen=True):
    """An entry with its place in the chain."""

    seq: int
    entry: Entry
    prev: str
    hash: str

    def as_dict(self) -> dict[str, object]:
        return {
            "seq": self.seq,
            **msgspec.structs.asdict(self.entry),
            "prev": self.prev,
            "hash": self.hash,
        }


COLUMNS = ("seq", *Entry.__struct_fields__, "prev", "hash")

_encode = msgspec.json.Encoder().encode


def seal(seq: int, entry: Entry, prev: str) -> str:
    """The hash that binds an entry to its place: any change to it, or to anything before it, changes this."""
    return hashlib.sha256(b"%d %b %b" % (seq, prev.encode(), _encode(entry))).hexdigest()


def sign(key: bytes, *parts: object) -> str:
    """A keyed signature over a statement such as "the ledger ends at seq with hash".

    BLAKE2b with a key, since unlike `hmac.digest` it does not let go of the interpreter for a few bytes, which
    costs a thread switch in every call.
    """
    return hashlib.blake2b("\x00".join(map(str, parts)).encode(), key=key, digest_size=32).hexdigest()


def is_signed(key: bytes, signature: str, *parts: object) -> bool:
    return hmac.compare_digest(signature.encode(), sign(key, *parts).encode())


def from_row(row: tuple[object, ...]) -> Record:
    """A stored row (in the order of COLUMNS) as a record; a row of wrong types raises ValidationError."""
    entry = msgspec.convert(list(row[1:-2]), Entry)
    return msgspec.convert([row[0], entry, row[-2], row[-1]], _Shape).record()


class _Shape(msgspec.Struct, array_like=True):
    seq: int
    entry: Entry
    prev: str
    hash: str

    def record(self) -> Record:
        return Record(self.seq, self.entry, self.prev, self.hash)
