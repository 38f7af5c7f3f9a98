"""The searchable texts of a command, field by field, and the words of a question.

Stop words and synonyms are in `command_words.json`. Further example phrases of the built-in commands are in
`command_phrasings.json`.
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
"""Maximum length of one field: an upstream server can describe its tools at any length."""
_MOST_PARAMETERS = 60


class Texts(NamedTuple):
    """The text of each index field for one command, in the order of the columns."""

    name: str
    said: str
    told: str
    params: str
    text: str


class Lexicon(msgspec.Struct, frozen=True):
    stop: frozenset[str]
    """Stop words."""
    alike: tuple[tuple[str, ...], ...]
    """Groups of synonyms."""


@functools.cache
def lexicon() -> Lexicon:
    return msgspec.json.decode(resources.files(__package__).joinpath("command_words.json").read_bytes(), type=Lexicon)


@functools.cache
def _phrasings() -> dict[str, tuple[str, ...]]:
    text = resources.files(__package__).joinpath("command_phrasings.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, tuple[str, ...]])


def sayings(command: Command) -> tuple[str, ...]:
    """The example phrases of a command and, for built-in commands, further phrasings."""
    return (*(one.says for one in command.facts.examples), *_phrasings().get(command.name, ()))


def words(text: str) -> list[str]:
    """The words of a text in lower case. Compound names such as `getUserName` and `user_name` are split."""
    return _WORD.findall(spelt(text).lower())


def spelt(text: str) -> str:
    """A text with its camel-case names split into words."""
    return _HUMP.sub(" ", text[:_LONGEST_TEXT])


def texts(command: Command) -> Texts:
    """The searchable texts of a command. Must be deterministic: the index needs the same texts to remove it."""
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
