"""Figures of an answer, and whether texts hold them or they can be computed from the texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DATES = re.compile(
    rf"\d{{4}}-\d{{2}}(?:-\d{{2}})?(?:[T ]\d{{2}}:\d{{2}}\S*)?"
    rf"|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\b\d{{1,2}}:\d{{2}}\S*"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTHS})\w*(?:,? \d{{4}})?"
    rf"|\b(?:{_MONTHS})\w*\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\b(?:19|20)\d\d\b",
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"^\s*\d{1,3}[.)] ", re.MULTILINE)
_NUMBER = re.compile(
    r"(?<![\w./-])-?\d{1,3}(?:[,\u202f\u00a0]\d{3})+(?:\.\d+)?(?![\w-])|(?<![\w./:-])-?\d+(?:\.\d+)?(?![\w/-])"
)
_ANY_NUMBER = re.compile(r"(?<![\d.])-?\d+(?:\.\d+)?")
_NAMED = re.compile(r"\"?(\w+)\"?: (-?\d+(?:\.\d+)?)\b")
_NOTHING = re.compile(r"\b(?:empty|no output|null|none|nothing|not found)\b|\[\]", re.IGNORECASE)
_MOST_NUMBERS = 2_000
_MOST_PAIRED = 12
"""Numbers of which every two are added, subtracted and divided. From more, nearly every figure can be computed."""


def read_figures(said: str) -> list[str]:
    """The figures of an answer, without dates, times, numbers of lists, and parts of names."""
    text = _LIST_MARK.sub(" ", _DATES.sub(" ", said))
    return list(dict.fromkeys(re.sub("[,\u202f\u00a0]", "", one) for one in _NUMBER.findall(text)))


class FigureCheck:
    """Checks figures of one answer against texts: each is held, counted from a list, or computed."""

    def __init__(self, results: Sequence[str], others: Sequence[str], said: str) -> None:
        texts = (*results, *others)
        found = (one for text in texts for one in islice(_ANY_NUMBER.findall(text), _MOST_NUMBERS))
        self._numbers = {float(one) for one in found}
        self._counts = _counts(results, said)
        self._computed = set(_compute(texts))

    def holds(self, figure: str) -> bool:
        wanted = float(figure)
        decimals = len(figure.partition(".")[2])
        if wanted in self._numbers or (not decimals and wanted in self._counts):
            return True
        tolerance = 0.5001 * 10.0**-decimals
        rounded = (number for number in self._numbers if number % 1)
        return any(abs(number - wanted) <= tolerance for one in (rounded, self._computed) for number in one)


def _counts(results: Sequence[str], said: str) -> set[float]:
    """Counts that an answer can have made itself: of its own list, and of the lines and items of a result."""
    lists = [count for mark in (",", "\n- ", "\n* ", "\n") if (count := said.count(mark))]
    found = {float(count + more) for count in lists for more in (0, 1, 2)}
    for text in results:
        lines = [line for line in text.splitlines() if line.strip()]
        found |= {float(len(lines) - less) for less in range(5)}
        found |= {float(text.count(mark)) for mark in ("},", "{", '"id"')}
        found |= {0.0} if _NOTHING.search(text) else set()
    return found


def _compute(texts: Sequence[str]) -> Iterator[float]:
    """Sums, averages and differences that people expect an answer to make of a result."""
    columns: dict[str, list[float]] = {}
    for text in texts:
        for name, value in islice(_NAMED.findall(text), _MOST_NUMBERS):
            columns.setdefault(name, []).append(float(value))
    for values in columns.values():
        yield from (sum(values), sum(values) / len(values), max(values) - min(values))
    plain = [float(one) for text in texts for one in islice(_ANY_NUMBER.findall(_DATES.sub(" ", text)), _MOST_NUMBERS)]
    for number in dict.fromkeys(plain):
        yield from (number * 100, number / 1_000, number / 1_024, number / 60)
    few = list(dict.fromkeys(plain))
    for first in few if len(few) <= _MOST_PAIRED else ():
        for second in few:
            yield from (first + second, first - second)
            if second:
                yield from (first / second, 100 * first / second)
    if plain:
        yield from (sum(plain), sum(plain) / len(plain))
