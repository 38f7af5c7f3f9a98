"""The words of the topics, from `data/topics.json`. Phrases are separated by bars."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from doorward.agents.house.words import load


class CallWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nouns: str
    who: str
    did: str
    happened: str
    failed: str
    refused: str
    expired: str
    wrong: str
    running: str
    decided: str
    succeeded: str
    reasons: str
    most: str
    asks: str
    """Words without which a word such as `denied` is no question."""
    chart: str
    may: str
    """Words that may stand beside the others and change nothing."""


class MessageWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nouns: str
    said: str
    decided: str
    about: str
    may: str


class StatusWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    health: str
    health_may: str
    status: str
    status_may: str
    version: str
    log: str
    log_errors: str
    log_warnings: str
    log_about: str
    log_may: str


class SchemaWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    collections: str
    collections_whole: str
    fields: str
    values: str
    may: str
    records: str
    created: str
    changed: str


class HelpWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    search: str
    describe: str
    offered: str
    may: str


class ApprovalWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nouns: str
    states: dict[str, str]
    who: str
    may: str


class RoomWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    members: str
    topic: str
    recipe: str
    may: str


class Thing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A system collection that is listed and counted."""

    words: str
    one: str
    many: str
    collection: str = ""
    command: str = ""
    """The command that lists it where `data/list` is not offered, or where it is no collection."""
    label: tuple[str, ...] = ("id",)
    head: str = "There {is} {counted}{how}"
    none: str = "There are no {many}."
    fields: dict[str, str] = {}
    """Phrases and the field that they name."""
    named: tuple[str, ...] = ()
    """The fields beside whose name a value may stand."""
    values: dict[str, dict[str, Any]] = {}
    """Phrases and the condition that they mean."""
    names_behind: str = ""
    """Words behind which the name of one stands."""
    may: str = ""


class Program(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    needs: str
    commands: dict[str, dict[str, Any]]
    """Commands and their parameters; the first that is offered runs."""
    head: str
    may: str = ""


class Vocabulary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    calls: CallWords
    messages: MessageWords
    status: StatusWords
    schemas: SchemaWords
    help: HelpWords
    approvals: ApprovalWords
    rooms: RoomWords
    things: tuple[Thing, ...]
    programs: tuple[Program, ...]
    codes: dict[str, str]
    """What the codes of calls mean."""


@cache
def vocabulary() -> Vocabulary:
    return load("topics.json", Vocabulary)
