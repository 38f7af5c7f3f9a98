"""The rules of the stand-in: which words mean which calls. They are data, in standin.json beside this file."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from doorward.agents.models.standin_words import stem, stems, words


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tools: tuple[str, ...]
    params: dict[str, Any]
    shown_as: str = msgspec.field(name="as", default="")
    """The teller that tells what came of it; by default that of the tool."""
    instead: int | None = None
    """The call in whose place it is made where that one is not offered."""


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A first sentence that depends on whether a call found anything."""

    tool: str
    none: str
    some: str


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"unless": "not"}):
    name: str
    patterns: tuple[str, ...] = ()
    """Regular expressions over the whole text; what their groups catch becomes parameters."""
    when: tuple[str, ...] = ()
    """Words that must all be there: plain, alternatives with a bar between, or a group with @."""
    unless: str = ""
    calls: tuple[Call, ...] = ()
    text: str = ""
    say: str = ""
    verdict: Verdict | None = None


class Teller(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"total": "sum", "average": "mean"}):
    """How a result is put into words: by how many there are, as one value, or as what a program wrote."""

    none: str = ""
    one: str = ""
    many: str = ""
    item: str = ""
    name: str = ""
    value: str = ""
    text: str = ""
    quote: str = ""
    like: str = ""
    most: int = 20
    total: tuple[str, ...] = ()
    average: tuple[str, ...] = ()
    weight: str = ""
    rank: str = ""
    leave_questions: bool = False


class Book(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    suggestions: tuple[str, ...]
    greeting: str
    not_understood: str
    not_offered: str
    waits: str
    help: str
    no_commands: str
    refused: str
    failed: str
    parked: str
    declined: str
    approved: str
    left_out: str
    abilities: tuple[str, ...]
    stop: str
    groups: dict[str, str]
    since_days: dict[str, int]
    rules: tuple[Rule, ...]
    tellers: dict[str, Teller]

    def teller(self, name: str) -> Teller:
        found = self.tellers.get(name, _PLAIN)
        if not found.like:
            return found
        model = self.tellers[found.like]
        return msgspec.structs.replace(model, name=found.name or model.name)


_PLAIN = Teller(none="It gave nothing.", one="It gave:\n{lines}", many="It gave:\n{lines}", item="- {all}", most=10)


class Match(msgspec.Struct, frozen=True):
    rule: Rule
    caught: dict[str, str] = {}


@cache
def book() -> Book:
    text = resources.files(__package__).joinpath("standin.json").read_bytes()
    return msgspec.json.decode(text, type=Book)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


_TELLING, _MOST_WORDS = 3, 8
_LONGEST = 4_000
"""Characters of a message that are looked at: nobody asks a simple question at greater length."""


def matching(text: str) -> Match | None:
    """The rule that fits a text: the first whose pattern does or, without one, the one with the most words in it."""
    text = text[:_LONGEST].strip()
    for rule in book().rules:
        for pattern in rule.patterns:
            found = _compiled(pattern).search(text)
            if found is not None:
                caught = {key: value.strip() for key, value in found.groupdict().items() if value}
                return Match(rule, caught)
    there = stems(text)
    best: tuple[int, Rule] | None = None
    for rule in book().rules:
        if rule.unless and there & _alternatives(rule.unless):
            continue
        fits = [len(one.split()) for one in rule.when if all(there & _alternatives(word) for word in one.split())]
        if fits and (best is None or max(fits) > best[0]):
            best = (max(fits), rule)
    return Match(best[1]) if best is not None else None


def topic(text: str) -> list[str]:
    """The telling words of a question: neither small words nor those by which it was understood as one."""
    small = {stem(word) for word in book().stop.split()} | _alternatives("@decide") | _alternatives("@message")
    found = [stem(word) for word in words(text[:_LONGEST])]
    return list(dict.fromkeys(one for one in found if one not in small and len(one) >= _TELLING))[:_MOST_WORDS]


@cache
def _alternatives(word: str) -> frozenset[str]:
    """The stems that may stand for a word of a rule."""
    parts = [book().groups[one[1:]] if one.startswith("@") else one for one in word.split("|")]
    return frozenset(stem(one) for part in parts for one in part.split("|"))
