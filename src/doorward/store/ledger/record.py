"""Ledger records: what is recorded of a call, and the hash that chains each record to the one before."""

from __future__ import annotations

import hashlib
import hmac
from typing import Literal

import msgspec

GENESIS = "0" * 64
"""The previous hash of the first record."""

Phase = Literal["start", "end", "whole"]
"""A change has a start and an end record. A read or a refusal has one record, `whole`."""

_THOUGHT = "(thought of by the keeper in agent/ask "


def with_origin(note: str, request: str) -> str:
    """Append the id of the agent/ask call in which the keeper made this call, so that the chain ties the two."""
    return f"{note} {_THOUGHT}{request})".lstrip() if request else note


def origin_of(note: str) -> str:
    """The part of a note that names the agent/ask call; empty when there is none."""
    at = note.rfind(_THOUGHT)
    return note[at:] if at >= 0 else ""


class Entry(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """The content of a record, before it has a place in the chain. `at` and `duration` are microseconds."""

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


def chain_hash(seq: int, entry: Entry, prev: str) -> str:
    """The hash of a record, over its entry, its sequence number and the previous hash."""
    return hashlib.sha256(b"%d %b %b" % (seq, prev.encode(), _encode(entry))).hexdigest()


def sign(key: bytes, *parts: object) -> str:
    """A keyed signature over a statement such as "the ledger ends at seq with hash".

    Keyed BLAKE2b, because `hmac.digest` releases the interpreter lock, which costs a thread switch in every call.
    """
    return hashlib.blake2b("\x00".join(map(str, parts)).encode(), key=key, digest_size=32).hexdigest()


def is_signed(key: bytes, signature: str, *parts: object) -> bool:
    return hmac.compare_digest(signature.encode(), sign(key, *parts).encode())


def record_from_row(row: tuple[object, ...]) -> Record:
    """A stored row (in the order of COLUMNS) as a record. Raises ValidationError on wrong types."""
    entry = msgspec.convert(list(row[1:-2]), Entry)
    return msgspec.convert([row[0], entry, row[-2], row[-1]], _Shape).record()


class _Shape(msgspec.Struct, array_like=True):
    seq: int
    entry: Entry
    prev: str
    hash: str

    def record(self) -> Record:
        return Record(self.seq, self.entry, self.prev, self.hash)
