"""How results are told, as data: templates by command and by thing, and which fields of a record tell most."""

from __future__ import annotations

from functools import cache
from importlib import resources

import msgspec


class Many(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sentences for none, one and many of something."""

    none: str
    one: str
    many: str
    item: str = ""
    """One of them as a line, with its fields in braces."""
    name: tuple[str, ...] = ()
    """The fields that name one of them, the best first."""
    most: int = 20
    rank: str = ""
    """The field whose words are compared with those that were asked about."""
    no_questions: bool = False
    not_asked: bool = False
    """Whether to leave out the very message that is being answered."""


class Tellers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    refused: str
    failed: str
    parked: str
    declined: str
    approved: str
    nothing: str
    well: str
    unwell: str
    unseen: str
    shapes: dict[str, str]
    """By command, the form of what it gives; for others it is told by looking."""
    sentences: dict[str, str]
    outputs: dict[str, str]
    silent: dict[str, str]
    things: dict[str, Many]
    columns: dict[str, tuple[str, ...]]
    labels: tuple[str, ...]
    left_out: tuple[str, ...]
    plain_numbers: tuple[str, ...]
    sizes: tuple[str, ...]
    reasons: tuple[str, ...]
    times: tuple[str, ...]
    codes: dict[str, str]
    functions: dict[str, str]


@cache
def tellers() -> Tellers:
    text = resources.files("doorward.agents.house").joinpath("knowledge", "tellers.json").read_bytes()
    return msgspec.json.decode(text, type=Tellers)
