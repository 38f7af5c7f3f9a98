"""Counts, sums, averages and extremes: `total amount`, `average price of`, `how many`, `the highest`."""

from __future__ import annotations

from functools import cache

from doorward.agents.house.entities.conditions import begins_comparison
from doorward.agents.house.entities.entity import Function, Measure
from doorward.agents.house.entities.fields import field_at
from doorward.agents.house.entities.knowledge import vocabulary
from doorward.agents.house.entities.line import Find, Line
from doorward.agents.house.entities.phrases import Phrases


@cache
def _measures() -> Phrases[tuple[Function, str]]:
    return Phrases({phrase: (fn, phrase) for fn, many in vocabulary().measures.items() for phrase in many})


def measure(line: Line, i: int) -> Find | None:
    found = _measures().at(line.tokens, i)
    if found is None:
        return None
    (fn, phrase), at = found
    words = vocabulary()
    if fn == "count":
        weak = phrase in ("count", "counts", "number", "tally")
        return None if weak and not _is_verb(line, i) else ("measure", Measure(fn, ""), i, at)
    if begins_comparison(line, at) or (line.lower(i - 1) in ("in", "of", "at") and phrase in words.weak_measures):
        return None
    start = at + 1 if line.lower(at) == "of" else at
    while line.lower(start) in words.articles or line.lower(start) in ("value", "values"):
        start += 1
    end = start
    while line.is_word(end) and end - start < 2 and line.lower(end) not in words.not_measured:
        if line.lower(end) == "of" or line.lower(end) in words.articles:
            break
        end += 1
    field = " ".join(one.lower for one in line.tokens[start:end])
    if not field and phrase in words.weak_measures and not _stands_alone(line, i, at):
        return None
    if field and begins_comparison(line, end) and phrase in words.weak_measures:
        return None
    return "measure", Measure(fn, field), i, end if field else at


def _stands_alone(line: Line, i: int, end: int) -> bool:
    """Whether a weak word measures without a field: `the total`, `total per customer`."""
    if line.lower(i - 1) in vocabulary().articles:
        return True
    return (i == 0 or not line.is_word(i - 1)) and line.lower(end) in (
        "for",
        "per",
        "by",
        "of",
        "each",
        "where",
        "whose",
    )


def _is_verb(line: Line, i: int) -> bool:
    """Whether `count` begins a wish, or follows the verb or the article that makes it one."""
    before = line.lower(i - 1)
    if i == 0 or not line.is_word(i - 1):
        return True
    if before in (
        "and",
        "then",
        "the",
        "a",
        "please",
        "me",
        "just",
        "to",
        "also",
        "with",
        "their",
        "you",
        "get",
        "total",
    ):
        return field_at(line, i + 1) is not None or before in ("the", "a", "me", "get")
    return False
