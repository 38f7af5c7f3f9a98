"""The rules of the stand-in: which words mean which calls. They are data, in standin.json beside this file."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec

from doorward.agents.models.standin_words import stem

Acts = Literal["looks", "opens", "changes"]
"""What a rule leads to: a look around, the opening of something that was named, or a change."""


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


class Guard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words in a message that keep a rule from being followed, and why."""

    name: str
    pattern: str
    why: str
    stops: tuple[Acts, ...]
    outside: bool = False
    """Whether it looks only at what is outside of a text to write or a line to run."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"unless": "not"}):
    name: str
    patterns: tuple[str, ...] = ()
    """Regular expressions over a message without its address; what their groups catch becomes parameters."""
    mentions: tuple[str, ...] = ()
    """Where one of these fits and no pattern does, the matter is spoken of, but not asked for: nothing is done."""
    unless_mentions: str = ""
    when: tuple[str, ...] = ()
    """Words that must all be there: plain, alternatives with a bar between, or a group with @."""
    unless: str = ""
    acts: Acts = "looks"
    ask: str = ""
    """How to ask for it, for whoever did not."""
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
    leave_asked: bool = False
    """Whether to leave out the very message that is being answered."""


class Book(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    suggestions: tuple[str, ...]
    greeting: str
    not_understood: tuple[str, str]
    """What is said the first time, and what when that was the last thing said."""
    did_nothing: str
    how_to_ask: str
    how_else: str
    not_plain: str
    not_offered: str
    waits: str
    help: str
    hello: str
    no_commands: str
    refused: str
    failed: str
    parked: str
    declined: str
    approved: str
    left_out: str
    abilities: dict[str, tuple[str, ...]]
    """What it does, each with questions that show how to ask for it."""
    courtesy: str
    """How a request may begin before it says what is wanted."""
    afterwards: str
    asks: str
    """How a question or a request looks; nothing else leads to a call by its words alone."""
    guards: tuple[Guard, ...]
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


@cache
def book() -> Book:
    text = resources.files(__package__).joinpath("standin.json").read_bytes()
    return msgspec.json.decode(text, type=Book)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


@cache
def alternatives(word: str) -> frozenset[str]:
    """The stems that may stand for a word of a rule."""
    parts = [book().groups[one[1:]] if one.startswith("@") else one for one in word.split("|")]
    return frozenset(stem(one) for part in parts for one in part.split("|"))
