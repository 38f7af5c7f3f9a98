"""A request as tokens: words, numbers, quotations, paths and dates, each with its place in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Literal

import msgspec

from doorward.agents.house.words import number_word, stem, stop_words, word_lists

MAX_REQUEST = 8_000
"""Characters of a request that are read."""

TokenKind = Literal["word", "number", "quoted", "path", "date", "mark"]

_TOKEN = re.compile(
    r"""
    (?P<quoted>"[^"\n]{1,4000}"|“[^”]{1,4000}”|`[^`\n]{1,4000}`|(?<![\w])'[^'\n]{1,4000}'(?!\w)|‘[^’]{1,4000}’)
  | (?P<date>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?(?![\w-]))
  | (?P<number>[+-]?(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w])|[+-]?(?<![\w.])\d+(?:\.\d+)?(?![\w./:-]|\.\w))
  | (?P<path>[\w@+.-]+@[\w-]+(?:\.[\w-]+)+|~?/[\w.~+@/-]*[\w/~]|[\w.~+-]+/[\w.~+/-]*[\w/*]
      |[\w*-][\w.+-]*\.[A-Za-z]\w{0,9}(?![\w]))
  | (?P<apart>['’]s\b)
  | (?P<word>[^\W_][\w]*(?:[-:.][\w]+|['’](?!s\b)[\w]+)*)
  | (?P<mark>[^\w\s]|_)
    """,
    re.VERBOSE,
)
_NO_ENDINGS = frozenset(("e.g", "i.e", "etc"))


class Token(msgspec.Struct, frozen=True):
    text: str
    """As it was typed; without its quotation marks, if it is a quotation."""
    lower: str
    """In small letters, with its spelling corrected."""
    stem: str
    kind: TokenKind
    start: int
    end: int

    @property
    def is_stop(self) -> bool:
        """Whether it carries no meaning of its own."""
        return self.kind == "mark" or (self.kind == "word" and self.lower in stop_words())

    @property
    def number(self) -> float | None:
        if self.kind == "number":
            return float(self.text.replace(",", ""))
        return number_word(self.lower) if self.kind == "word" else None


class Request:
    """A text of a person and its tokens."""

    def __init__(self, text: str, tokens: Iterable[Token] | None = None) -> None:
        self.text = text
        self.tokens = tuple(_tokens(text[:MAX_REQUEST])) if tokens is None else tuple(tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def lower(self) -> str:
        """The corrected words, with one blank between."""
        return " ".join(one.lower for one in self.tokens)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        return tuple(one.stem for one in self.tokens)

    @cached_property
    def meaningful(self) -> frozenset[int]:
        """The places of the tokens that carry meaning."""
        return frozenset(place for place, one in enumerate(self.tokens) if not one.is_stop)

    def find(self, phrase: tuple[str, ...]) -> list[int]:
        """Return the places at which a phrase of stems begins."""
        size = len(phrase)
        return [at for at in range(len(self.stems) - size + 1) if self.stems[at : at + size] == phrase]

    def has(self, *words: str) -> bool:
        """Whether one of these words or phrases occurs, in any form."""
        return any(self.find(tuple(stem(part) for part in one.split())) for one in words)

    def places(self, *words: str) -> frozenset[int]:
        """Return the places of these words and phrases, in any form."""
        found: set[int] = set()
        for one in words:
            phrase = tuple(stem(part) for part in one.split())
            for at in self.find(phrase):
                found.update(range(at, at + len(phrase)))
        return frozenset(found)

    def between(self, first: int, behind: int) -> str:
        """Return the text from one token to before another, as it was typed."""
        if first >= behind or first >= len(self.tokens):
            return ""
        return self.text[self.tokens[first].start : self.tokens[behind - 1].end]

    def corrected(self, replacements: dict[int, str]) -> Request:
        """Return the request with the spelling of some words corrected."""
        if not replacements:
            return self
        return Request(
            self.text,
            (
                msgspec.structs.replace(one, lower=replacements[place], stem=stem(replacements[place]))
                if place in replacements
                else one
                for place, one in enumerate(self.tokens)
            ),
        )


def _tokens(text: str) -> Iterator[Token]:
    abbreviations = word_lists().abbreviations
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or "mark"
        whole = found.group()
        if kind == "apart":
            yield Token(whole, "'s", "'s", "mark", found.start(), found.end())
        elif kind == "quoted":
            yield Token(whole[1:-1], whole[1:-1].lower(), whole[1:-1].lower(), "quoted", found.start(), found.end())
        elif kind == "word":
            lower = whole.lower().replace("’", "'")
            expanded = abbreviations.get(lower, lower)
            for part in expanded.split():
                yield Token(whole, part, stem(part), "word", found.start(), found.end())
        elif kind == "path" and whole.lower() in _NO_ENDINGS:
            yield Token(whole, whole.lower(), whole.lower(), "mark", found.start(), found.end())
        else:
            yield Token(whole, whole.lower(), whole.lower(), kind, found.start(), found.end())  # type: ignore[arg-type]
