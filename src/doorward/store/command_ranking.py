"""The ranking of commands for a question: BM25 over the fields, plus signals that word counts do not capture.

The index finds candidates, and this module scores each one. A score is a share of the maximum possible score, so it is
between 0 and 1 and comparable between questions. Every score can be explained.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from doorward.core.command import shorten

_SATURATION, _LENGTH = 1.2, 0.75
_BY_FIELD = (4.0, 2.0, 2.0, 1.0, 1.0)
"""The weight of a word in the name, the examples, the summary, the parameters and the description."""
_TELLING = (1.0, 1.0, 0.9, 0.6, 0.6)
"""How likely a command is about a word in that field."""
_ALIKE = 0.25
"""The weight of a synonym relative to the word itself."""
_WORDS, _NAMED, _PAIRS, _KNOWN, _SAID = 0.55, 0.04, 0.1, 0.18, 0.13
"""The weights of the parts of a score: words, name, adjacent words, covered words, and similarity to an example."""
_MOST_PAIRS = 4
_MOST_TOLD = 4
_PLACES = ("its name has", "", "its summary has", "its parameters have", "its description has")


class Term(NamedTuple):
    """One content word of a question."""

    word: str
    stem: str
    weight: float
    """Its importance: rare words weigh more."""
    alike: tuple[str, ...] = ()
    """The stems of its synonyms."""
    unfinished: bool = False
    """Whether it may be the beginning of a word the user is still typing."""


class SearchQuestion(NamedTuple):
    terms: tuple[Term, ...]
    pairs: frozenset[tuple[str, str]]
    """The pairs of adjacent stems."""
    stems: frozenset[str]


class CommandFields:
    """The stems of a command, in the order of the index's fields.

    Each field is one string with a space on both sides of every stem. This takes little memory for many commands and is
    fast to search, because a question has few stems.
    """

    __slots__ = ("length", "name", "said", "texts")

    def __init__(self, lists: Sequence[Sequence[str]], said: Sequence[tuple[str, frozenset[str]]]) -> None:
        self.name = tuple(lists[0])
        self.said = said
        """Each example phrase with the stems of its content words."""
        self.length = sum(map(len, lists))
        self.texts = tuple("".join([f" {stem} " for stem in stems]) for stems in lists)

    def count(self, term: Term) -> Sequence[int] | None:
        """The number of occurrences of a word in each field; None if there are none."""
        found = self.places(f" {term.stem} ")
        return self.places(f" {term.stem}") if found is None and term.unfinished else found

    def places(self, sought: str) -> list[int] | None:
        """The number of occurrences of a substring in each field; None if there are none."""
        found = [text.count(sought) for text in self.texts]
        return found if any(found) else None

    def pairs(self, asked: Iterable[tuple[str, str]]) -> int:
        """How many of these pairs are adjacent in the name, the examples or the summary."""
        first = self.texts[:3]
        return sum(any(f" {one}  {two} " in text for text in first) for one, two in asked)


def score(asked: SearchQuestion, fields: CommandFields, average: float) -> float:
    """Score a command's fields from 0 to 1. `average` is the average number of words per command."""
    norm = _SATURATION * (1 - _LENGTH + _LENGTH * fields.length / max(average, 1.0))
    points = ideal = known = 0.0
    for term in asked.terms:
        ideal += term.weight
        times = telling = 0.0
        counts = fields.count(term)
        if counts is not None:
            times = sum(map(operator.mul, _BY_FIELD, counts))
            telling = max(itertools.compress(_TELLING, counts))
        else:
            for stem in term.alike:
                for field, count in enumerate(fields.places(f" {stem} ") or ()):
                    if count:
                        times = max(times, _ALIKE * _BY_FIELD[field])
                        telling = max(telling, _ALIKE * _TELLING[field])
        if times:
            points += term.weight * times / (times + norm)
            known += term.weight * telling
    if not known:
        return 0.0
    named = sum(stem in asked.stems for stem in fields.name) / max(1, len(fields.name))
    pairs = min(_MOST_PAIRS, fields.pairs(asked.pairs)) / _MOST_PAIRS
    whole = (known / ideal) ** 2
    closeness = _nearest(asked.stems, fields.said)[1]
    return _WORDS * points / ideal + _NAMED * named + _PAIRS * pairs + _KNOWN * whole + _SAID * closeness


def explain_score(asked: SearchQuestion, fields: CommandFields) -> str:
    """The field that contains most of the words and which ones, then the field with most of the others."""
    found = [(term, counts) for term in asked.terms if (counts := fields.count(term)) is not None]
    said = _nearest(asked.stems, fields.said)[0]
    told: list[str] = []
    while found and len(told) < 2:
        worth = [sum(term.weight for term, counts in found if counts[field]) for field in range(len(_PLACES))]
        field = worth.index(max(worth))
        here = [term.word for term, counts in found if counts[field]]
        place = _PLACES[field] or (f"its example {shorten(said)} has" if said else "its examples have")
        told.append(f"{place} {_join_words(here)}")
        found = [one for one in found if not one[1][field]]
    if told:
        return "; ".join(told)
    alike = [term.word for term in asked.terms if any(fields.places(f" {stem} ") for stem in term.alike)]
    return f"it has words like {_join_words(alike)}" if alike else "it has a similar meaning"


def _nearest(stems: frozenset[str], said: Iterable[tuple[str, frozenset[str]]]) -> tuple[str, float]:
    best, nearest = "", 0.0
    for text, known in said:
        closeness = len(stems & known) / (len(stems | known) or 1)
        if closeness > nearest:
            best, nearest = text, closeness
    return best, nearest


def _join_words(words: list[str]) -> str:
    more = f" and {len(words) - _MOST_TOLD} more" if len(words) > _MOST_TOLD else ""
    return ", ".join(words[:_MOST_TOLD]) + more
