"""The words of the topics, from `data/topics.json`. Phrases are separated by bars."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from doorward.agents.house.words import load, stem


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


class _Vocabulary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fillers: str
    """Phrases that add nothing to any request."""
    words: dict[str, dict[str, str]]
    """Phrases by topic. Those called `may` may stand beside the others and change nothing."""
    states: dict[str, str]
    """The states of approvals, and phrases for them."""
    things: tuple[Thing, ...]
    programs: tuple[Program, ...]
    codes: dict[str, str]
    """What the codes of calls mean."""


@cache
def vocabulary() -> _Vocabulary:
    return load("topics.json", _Vocabulary)


@cache
def reserved_stems() -> frozenset[str]:
    """Return the stems of the words that topics know, which are no names unless they are known to be."""
    phrases = [*(one for topic in vocabulary().words.values() for one in topic.values()), *vocabulary().states.values()]
    phrases += [one for thing in vocabulary().things for one in (thing.words, thing.may, *thing.fields, *thing.values)]
    return frozenset(stem(word) for one in phrases for word in one.replace("|", " ").split())


def words_of(topic: str) -> dict[str, str]:
    return vocabulary().words[topic]
