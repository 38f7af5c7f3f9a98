"""The words of the topics, from `data/topics.json`. Phrases are separated by bars."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from doorward.agents.house.words import load, stem


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A condition that some words mean, such as `failed`."""

    words: str
    says: str = ""
    """The adjective in the answer."""
    where: dict[str, Any] = {}
    """A list of values stands for any of them."""
    alone: str = ""
    """Phrases beside which the noun of the topic may be missing; `*` if it always may."""
    collection: str = ""
    time: str = ""
    line: str = ""
    begins_about: bool = False
    """Whether the words behind it are those that the text holds."""


class RecordTopic(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Records of a system collection that are listed, counted and grouped."""

    words: str
    one: str
    many: str
    collection: str = ""
    command: str = ""
    """The command that lists it where `data/list` is not offered, or where it is no collection."""
    label: tuple[str, ...] = ("id",)
    line: str = ""
    """How a record is told on a line of its own; empty if only the names are told."""
    head: str = "I see {counted}{how}"
    none: str = "I see no {many}{how}."
    time: str = "createdAt"
    fields: dict[str, str] = {}
    """Phrases and the field that they name."""
    named: tuple[str, ...] = ()
    """The fields beside whose name a value may stand."""
    qualities: tuple[Quality, ...] = ()
    always: dict[str, Any] = {}
    """A condition that every request has."""
    people: tuple[str, ...] = ()
    """The fields that say who did it."""
    verbs: str = ""
    """Verbs that stand for the noun beside a person or a command."""
    person_leads: str = ""
    about: str = ""
    """Words behind which the words stand that the text holds."""
    in_room: bool = False
    names_behind: str = ""
    """Words behind which the name of one stands."""
    unless: str = ""
    """Phrases that show that something else is meant."""
    bare: bool = True
    """Whether the noun alone is a request."""
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
    records: tuple[RecordTopic, ...]
    programs: tuple[Program, ...]


@cache
def vocabulary() -> _Vocabulary:
    return load("topics.json", _Vocabulary)


@cache
def reserved_stems() -> frozenset[str]:
    """Return the stems of the words that topics know, which are no names unless they are known to be."""
    phrases = [one for topic in vocabulary().words.values() for one in topic.values()]
    for topic in vocabulary().records:
        phrases += [topic.words, topic.verbs, topic.about, topic.may, *topic.fields]
        phrases += [one.words for one in topic.qualities]
    return frozenset(stem(word) for one in phrases for word in one.replace("|", " ").split())


def words_of(topic: str) -> dict[str, str]:
    return vocabulary().words[topic]
