"""How well one command answers a question: by BM25 over its fields, and by what word counts alone do not see.

The index finds candidates; here each is looked at closely. Points are a part of what a command could have at most, so
they lie between 0 and 1 and mean the same whatever was asked, and every point has a reason that can be told.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from doorward.command import shortened

_SATURATION, _LENGTH = 1.2, 0.75
_BY_FIELD = (4.0, 2.0, 2.0, 1.0, 1.0)
"""What a word counts in the name, the examples, the summary, the parameters and the description."""
_TELLING = (1.0, 1.0, 0.9, 0.6, 0.6)
"""How surely a command is about a word that stands there."""
_ALIKE = 0.25
"""What a word that means nearly the same counts beside the word itself."""
_WORDS, _NAMED, _PAIRS, _KNOWN, _SAID = 0.55, 0.04, 0.1, 0.18, 0.13
"""The parts of a whole answer: words, the name, words side by side, no word left over, and an example like it."""
_MOST_PAIRS = 4
_MOST_TOLD = 4
_PLACES = ("its name has", "", "its summary has", "its parameters have", "its description has")


class Term(NamedTuple):
    """One telling word of a question."""

    word: str
    stem: str
    weight: float
    """How much it tells: rare words tell more."""
    alike: tuple[str, ...] = ()
    """Stems of words that mean nearly the same."""
    unfinished: bool = False
    """Whether it may be the beginning of a word that is still being typed."""


class Asked(NamedTuple):
    terms: tuple[Term, ...]
    pairs: frozenset[tuple[str, str]]
    """The stems that stand side by side."""
    stems: frozenset[str]


class Fields:
    """The stems of a command, in the order of the fields of the index.

    Each field is one text with a blank on either side of every stem, which is small to keep for very many commands and
    fast to look into: few stems are ever asked for.
    """

    __slots__ = ("length", "name", "said", "texts")

    def __init__(self, lists: Sequence[Sequence[str]], said: Sequence[tuple[str, frozenset[str]]]) -> None:
        self.name = tuple(lists[0])
        self.said = said
        """Each example as it is said, with its telling stems."""
        self.length = sum(map(len, lists))
        self.texts = tuple("".join([f" {stem} " for stem in stems]) for stems in lists)

    def count(self, term: Term) -> Sequence[int] | None:
        """How often a word stands in each field; None when it stands in none."""
        found = self.places(f" {term.stem} ")
        return self.places(f" {term.stem}") if found is None and term.unfinished else found

    def places(self, sought: str) -> list[int] | None:
        """How often a piece of text stands in each field; None when it stands in none."""
        found = [text.count(sought) for text in self.texts]
        return found if any(found) else None

    def pairs(self, asked: Iterable[tuple[str, str]]) -> int:
        """How many of these stand side by side in the name, the examples or the summary."""
        first = self.texts[:3]
        return sum(any(f" {one}  {two} " in text for text in first) for one, two in asked)


def fit(asked: Asked, fields: Fields, average: float) -> float:
    """How well these fields answer, where a command has that many words on average; from 0 to 1."""
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


def why(asked: Asked, fields: Fields) -> str:
    """The field that knows most of the words, and which it knows; then where the others stand."""
    found = [(term, counts) for term in asked.terms if (counts := fields.count(term)) is not None]
    said = _nearest(asked.stems, fields.said)[0]
    told: list[str] = []
    while found and len(told) < 2:
        worth = [sum(term.weight for term, counts in found if counts[field]) for field in range(len(_PLACES))]
        field = worth.index(max(worth))
        here = [term.word for term, counts in found if counts[field]]
        place = _PLACES[field] or (f"its example {shortened(said)} has" if said else "its examples have")
        told.append(f"{place} {_listed(here)}")
        found = [one for one in found if not one[1][field]]
    if told:
        return "; ".join(told)
    alike = [term.word for term in asked.terms if any(fields.places(f" {stem} ") for stem in term.alike)]
    return f"it has words like {_listed(alike)}" if alike else "it means the like"


def _nearest(stems: frozenset[str], said: Iterable[tuple[str, frozenset[str]]]) -> tuple[str, float]:
    best, nearest = "", 0.0
    for text, known in said:
        closeness = len(stems & known) / (len(stems | known) or 1)
        if closeness > nearest:
            best, nearest = text, closeness
    return best, nearest


def _listed(words: list[str]) -> str:
    more = f" and {len(words) - _MOST_TOLD} more" if len(words) > _MOST_TOLD else ""
    return ", ".join(words[:_MOST_TOLD]) + more
