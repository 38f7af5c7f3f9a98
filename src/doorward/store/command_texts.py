"""The words a command is found by, field by field, and the words of a question about one.

What is left out of questions and which words mean nearly the same is data, in `command_words.json`, and so is what
people say who mean one of our own commands, beside its examples, in `command_phrasings.json`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any, NamedTuple

import msgspec

from doorward.command import Command

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_TEXT = 4_000
"""How much of one field is looked at: a server of others can describe its tool at any length."""
_MOST_PARAMETERS = 60


class Texts(NamedTuple):
    """What each field of the index holds for one command. The order is that of its columns."""

    name: str
    said: str
    told: str
    params: str
    text: str


class Lexicon(msgspec.Struct, frozen=True):
    stop: frozenset[str]
    """Words that say nothing about a command."""
    alike: tuple[tuple[str, ...], ...]
    """Groups of words that mean nearly the same here."""


@functools.cache
def lexicon() -> Lexicon:
    return msgspec.json.decode(resources.files(__package__).joinpath("command_words.json").read_bytes(), type=Lexicon)


@functools.cache
def _phrasings() -> dict[str, tuple[str, ...]]:
    text = resources.files(__package__).joinpath("command_phrasings.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, tuple[str, ...]])


def sayings(command: Command) -> tuple[str, ...]:
    """What somebody says who wants a command: its examples and, of our own commands, more of the kind."""
    return (*(one.says for one in command.facts.examples), *_phrasings().get(command.name, ()))


def words(text: str) -> list[str]:
    """The words of a text in lower case, those of names in one word as well: `getUserName`, `user_name`."""
    return _WORD.findall(spelt(text).lower())


def spelt(text: str) -> str:
    """A text with names in it taken apart at their humps."""
    return _HUMP.sub(" ", text[:_LONGEST_TEXT])


def texts(command: Command) -> Texts:
    """What a command is found by. The same command always gives the same, since the index forgets it by this."""
    name = f"{command.name} {spelt(command.wire)}" if command.wire != command.name else command.name
    said = " . ".join(sayings(command))
    behind = command.description.removeprefix(command.summary)
    return Texts(
        name=" ".join(dict.fromkeys(words(name))),
        said=said[:_LONGEST_TEXT],
        told=f"{spelt(command.summary)} {command.category}",
        params=_parameters(command.schema),
        text=spelt(behind),
    )


def _parameters(schema: Mapping[str, Any]) -> str:
    parts: list[str] = []
    for key, spec in list(schema.get("properties", {}).items())[:_MOST_PARAMETERS]:
        parts.append(spelt(key))
        if isinstance(spec, dict) and isinstance(told := spec.get("description"), str):
            parts.append(told)
    return " ".join(parts)[:_LONGEST_TEXT]
