"""What the house model knows: words and what they mean, intents and the calls they lead to. All of it is data."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any, TypeVar

import msgspec

from doorward.agents.house.entities import stem

LONGEST = 4_000
"""Characters of a request that are looked at: nobody asks for something at greater length."""
_T = TypeVar("_T")
Phrase = tuple[str, ...]
"""The stems of a phrase, in order."""


class Synonyms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By concept, the words and phrases that mean it, with bars between."""

    acts: dict[str, str]
    things: dict[str, str]
    fields: dict[str, str]
    """By a field that records often have, what people call it."""
    stop: str
    """Words that say nothing about what is wanted."""
    noise: str
    """Words that say where everything is anyway."""


class Collection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A collection of the house itself, and how it is asked for."""

    words: str
    """What people call its records, with bars between."""
    noun: tuple[str, str]
    time: str = ""
    """The field that says when, where nothing else is said."""
    label: str = ""
    """The field that people know a record by."""
    instead: str = ""
    """The command that lists it as well, for whoever may not ask for collections."""
    filter: dict[str, Any] = {}
    """What is left out where nothing else is said."""


class Values(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words that stand for a condition on a field, wherever there is such a field."""

    words: str
    field: str
    collection: str = ""
    condition: Any = None
    time: str = ""
    """The field that says since when it is so; empty where none does."""


class Things(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    collections: dict[str, Collection]
    values: tuple[Values, ...]


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call of an intent; `@name` in its parameters is filled from the request."""

    command: str
    params: dict[str, Any] = {}


class Intent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"unless": "not"}):
    """Something that people want: the words by which it is known, and the calls that give it."""

    name: str
    when: tuple[str, ...] = ()
    """Each a list of groups that must all be there: words, `@concept`, `#entity`, with bars between alternatives."""
    unless: str = ""
    """None of these may be there."""
    also: str = ""
    """Words that belong to it without being needed, so that they speak for nothing else."""
    patterns: tuple[str, ...] = ()
    """Regular expressions over the whole request; what their groups catch fills parameters."""
    act: str = "list"
    thing: str = ""
    noun: tuple[str, str] = ("", "")
    changes: bool = False
    """Whether it changes something; then it needs a pattern that begins with a clear verb."""
    ask: str = ""
    """How to ask for it plainly, for whoever did not."""
    ways: tuple[tuple[Call, ...], ...] = ()
    """Several ways to the same, the best first: the first is taken whose commands are all offered."""
    plan: str = ""
    """The planner that makes the calls, where they depend on more than what was said."""
    weight: float = 0.0
    """What speaks for it beside its words, for one that is meant more often than another that fits as well."""


class Forms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Forms of speech, as regular expressions and as lists of words, by where they are looked for and what they are."""

    forms: dict[str, tuple[str, ...]]
    words: dict[str, str]


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that is answered with a sentence alone."""

    name: str
    patterns: tuple[str, ...]
    text: str = ""
    say: str = ""


class SmallTalk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    suggestions: tuple[str, ...]
    greeting: str
    hello: str
    help: str
    no_commands: str
    not_understood: str
    not_understood_near: str
    not_understood_again: str
    not_english: str
    did_nothing: str
    how_to_ask: str
    how_else: str
    not_plain: str
    too_long: str
    not_offered: str
    waits: str
    person_must: str
    no_such_collection: str
    no_records: str
    no_such_value: str
    nowhere: str
    beyond: str
    beyond_how: str
    either: str
    no_such_field: str
    no_such_date: str
    unused: str
    took_back: str
    nothing_to_undo: str
    undo_which: str
    nothing_to_delete: str
    no_such_files: str
    too_many: str
    nothing_before: str
    abilities: dict[str, tuple[str, ...]]
    replies: tuple[Reply, ...]


@cache
def _forms() -> Forms:
    return _loaded("forms.json", Forms)


def form(name: str) -> re.Pattern[str]:
    """One form of speech."""
    return compiled(_forms().forms[name][0])


def forms(name: str) -> tuple[re.Pattern[str], ...]:
    """Several forms of the same, the likeliest first."""
    return tuple(compiled(one) for one in _forms().forms[name])


def words(name: str) -> frozenset[str]:
    return frozenset(_forms().words[name].split())


def stems(name: str) -> frozenset[str]:
    return frozenset(stem(one) for one in _forms().words[name].split())


@cache
def synonyms() -> Synonyms:
    return _loaded("synonyms.json", Synonyms)


@cache
def things() -> Things:
    return _loaded("things.json", Things)


@cache
def intents() -> tuple[Intent, ...]:
    """What is only looked at, then what changes something."""
    return (*_loaded("intents.json", tuple[Intent, ...]), *_loaded("plans.json", tuple[Intent, ...]))


@cache
def smalltalk() -> SmallTalk:
    return _loaded("smalltalk.json", SmallTalk)


_PATH = r"[\"'“`]?(?P<{}>[\w.~/-]*[\w-]\.[a-zA-Z0-9]\w{{0,9}}|[\w.~-]+/[\w./-]*[\w/-]|/[\w./-]*[\w/-])[\"'”`]?"
_TARGET = r"[\"'“`]?(?P<target>[\w.~/][\w./~-]{0,200})[\"'”`]?"
_PROGRAM = (
    r"(?:ls|cat|pwd|echo|whoami|uname|df|du|ps|grep|wc|git|python3|pip|pytest|npm|cargo|rm|mv|cp"
    r"|mkdir|chmod|curl|wget|sed|awk|hostname|uptime|tar|sort|uniq|head|tail|stat|free|nproc|date|id|arch|diff|tree|env"
    r"|bash|sleep|touch|seq|rmdir|md5sum|sha256sum|printf)\b"
)
_MACROS = {
    "%PATH%": _PATH.format("path"),
    "%TARGET%": _TARGET,
    "%QUOTED%": r"\"[^\"]+\"|(?<!\w)'[^\"]+?'(?!\w)|`[^`]+`|“[^”]+”|‘[^’]+’",
    "%PROGRAM%": _PROGRAM,
}
"""What patterns are made of: paths, where something goes, what stands in quotation marks, programs by their name."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    for name, meaning in _MACROS.items():
        pattern = pattern.replace(name, meaning)
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def phrase(words: str) -> Phrase:
    return tuple(stem(word) for word in words.lower().split())


@cache
def phrases(words: str) -> tuple[Phrase, ...]:
    """The phrases of a list with bars between."""
    return tuple(phrase(one) for one in words.split("|") if one)


@cache
def concepts() -> dict[str, tuple[Phrase, ...]]:
    """Every concept and its phrases; an act and a thing of the same name are one."""
    known = synonyms()
    found: dict[str, tuple[Phrase, ...]] = {}
    for name, words in (*known.acts.items(), *known.things.items()):
        found[name] = (*found.get(name, ()), *phrases(words))
    return found


@cache
def stop() -> frozenset[str]:
    """Stems that say nothing about what is wanted."""
    return frozenset(stem(word) for word in synonyms().stop.split())


@cache
def noise() -> frozenset[str]:
    return frozenset(stem(word) for word in synonyms().noise.split())


@cache
def known_stems() -> frozenset[str]:
    """Every stem that some concept knows: none of these is the name of somebody's collection by itself."""
    return frozenset(each[0] for group in concepts().values() for each in group if len(each) == 1)


def _loaded(name: str, type: type[_T]) -> _T:
    text = resources.files(__package__).joinpath("knowledge", name).read_bytes()
    return msgspec.json.decode(text, type=type)
