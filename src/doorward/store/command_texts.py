"""The searchable texts of a command, field by field, and the word stems of a question."""

from __future__ import annotations

import functools
import re
import sqlite3
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any, NamedTuple

import msgspec

from doorward.core.command import Command

_MOST = 50_000


class StemCache:
    """A cache of word stems. Not thread-safe: the owner must lock it."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._db.execute("CREATE VIRTUAL TABLE one USING fts5 (word, tokenize = 'porter unicode61')")
        self._db.execute("CREATE VIRTUAL TABLE stem USING fts5vocab (one, 'instance')")
        self._known: dict[str, str] = {}

    def of(self, words: Iterable[str]) -> list[str]:
        """The stem of each word. Words must be single and in lower case."""
        words = list(words)
        if len(self._known) > _MOST:
            self._known.clear()
        unknown = list(dict.fromkeys(word for word in words if word not in self._known))
        if unknown:
            self._learn(unknown)
        return [self._known[word] for word in words]

    def _learn(self, unknown: list[str]) -> None:
        self._known.update({word: word for word in unknown})
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO one (rowid, word) VALUES (?, ?)", enumerate(unknown))
        found = self._db.execute("SELECT doc, term FROM stem ORDER BY doc, offset").fetchall()
        self._db.execute("ROLLBACK")
        self._known.update({unknown[row]: stem for row, stem in found})


_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_TEXT = 4_000
"""Maximum length of one field: an upstream server can describe its tools at any length."""
_MOST_PARAMETERS = 60


class CommandTexts(NamedTuple):
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


def phrasings(command: Command) -> tuple[str, ...]:
    """The example phrases of a command and, for built-in commands, further phrasings."""
    return (*(one.says for one in command.facts.examples), *_phrasings().get(command.name, ()))


def words(text: str) -> list[str]:
    """The words of a text in lower case. Compound names such as `getUserName` and `user_name` are split."""
    return _WORD.findall(spellings(text).lower())


def spellings(text: str) -> str:
    """A text with its camel-case names split into words."""
    return _HUMP.sub(" ", text[:_LONGEST_TEXT])


def texts(command: Command) -> CommandTexts:
    """The searchable texts of a command. Must be deterministic: the index needs the same texts to remove it."""
    name = f"{command.name} {spellings(command.wire)}" if command.wire != command.name else command.name
    said = " . ".join(phrasings(command))
    behind = command.description.removeprefix(command.summary)
    return CommandTexts(
        name=" ".join(dict.fromkeys(words(name))),
        said=said[:_LONGEST_TEXT],
        told=f"{spellings(command.summary)} {command.category}",
        params=_parameters(command.schema),
        text=spellings(behind),
    )


def _parameters(schema: Mapping[str, Any]) -> str:
    parts: list[str] = []
    for key, spec in list(schema.get("properties", {}).items())[:_MOST_PARAMETERS]:
        parts.append(spellings(key))
        if isinstance(spec, dict) and isinstance(told := spec.get("description"), str):
            parts.append(told)
    return " ".join(parts)[:_LONGEST_TEXT]
