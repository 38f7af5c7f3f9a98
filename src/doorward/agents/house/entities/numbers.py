"""Numbers in figures and in words."""

from __future__ import annotations

import re
from functools import cache

from doorward.agents.house.entities.knowledge import units, vocabulary
from doorward.agents.house.entities.line import Find, Line
from doorward.agents.house.entities.phrases import Phrases

_FIGURES = re.compile(r"(?P<whole>[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3})+)(?P<part>\.[0-9]+)?(?P<unit>[a-z%]*)")
_ORDINAL = ("st", "nd", "rd", "th")
_NOT_ONE = frozenset(
    (
        "the",
        "first",
        "last",
        "which",
        "this",
        "that",
        "no",
        "any",
        "every",
        "each",
        "only",
        "second",
        "next",
        "another",
        "other",
    )
)


@cache
def _lots() -> Phrases[int]:
    return Phrases(vocabulary().lots)


def figures(text: str) -> tuple[float | int, str] | None:
    """The number in figures that a text is, and the unit that is written onto it."""
    found = _FIGURES.fullmatch(text)
    if found is None:
        return None
    whole = found["whole"].replace(",", "")
    number: float | int = float(whole + found["part"]) if found["part"] else int(whole)
    return number, found["unit"]


def number_at(line: Line, i: int) -> tuple[float | int, int] | None:
    """The number that begins at a token, without a unit, and where it ends. `2.5k` is one, `24h` is none."""
    if line.shape(i) == "number":
        return _in_figures(line, i)
    return _in_words(line, i)


def _in_figures(line: Line, i: int) -> tuple[float | int, int] | None:
    words = vocabulary()
    read = figures(line.lower(i))
    if read is None:
        return None
    number, unit = read
    if unit and unit not in words.suffixes:
        return None
    if unit:
        return _whole(number * words.suffixes[unit]), i + 1
    scale = words.suffixes.get(line.lower(i + 1), 0) if len(line.lower(i + 1)) > 2 else 0
    return (_whole(number * scale), i + 2) if scale else (number, i + 1)


def _in_words(line: Line, i: int) -> tuple[float | int, int] | None:
    words = vocabulary()
    lot = _lots().at(line.tokens, i)
    if lot is not None:
        return lot
    total = current = 0
    at = i
    begun = False
    while line.is_word(at):
        word = line.lower(at)
        if word == "a" and line.lower(at + 1) in words.scales and not begun:
            current, begun = 1, True
        elif word in words.small:
            current, begun = current + words.small[word], True
        elif word in words.tens:
            current, begun = current + words.tens[word], True
        elif "-" in word and _joined(word):
            current, begun = current + _joined(word), True
        elif word in words.scales and begun:
            scale = words.scales[word]
            current = max(current, 1) * scale
            if scale > 100:
                total, current = total + current, 0
        elif word == "and" and begun and at > i and line.lower(at - 1) in words.scales and _counts(line.lower(at + 1)):
            pass
        else:
            break
        at += 1
        if at - i > 12:
            break
    return (total + current, at) if begun else None


def _counts(word: str) -> bool:
    return word in vocabulary().small or word in vocabulary().tens or _joined(word) > 0


def _joined(word: str) -> int:
    ten, _, one = word.partition("-")
    words = vocabulary()
    return words.tens[ten] + words.small[one] if ten in words.tens and one in words.small else 0


def _whole(number: float | int) -> float | int:
    return int(number) if float(number).is_integer() else number


def ordinal_at(line: Line, i: int) -> tuple[int, int] | None:
    """A place in a row, such as `third` or `3rd`."""
    word = line.lower(i)
    if word in vocabulary().ordinals:
        return vocabulary().ordinals[word], i + 1
    read = figures(word) if line.shape(i) == "number" else None
    if read is not None and read[1] in _ORDINAL and isinstance(read[0], int):
        return read[0], i + 1
    return None


def number(line: Line, i: int) -> Find | None:
    """A number that stands by itself."""
    if line.lower(i) == "#" and line.shape(i + 1) == "number" and line.touches(i + 1):
        read = number_at(line, i + 1)
        return ("number", read[0], i, read[1]) if read else None
    if line.lower(i) in ("one", "both") and (line.lower(i - 1) in _NOT_ONE or not line.is_word(i + 1)):
        return None
    read = number_at(line, i)
    if read is None or line.lower(read[1]) in units().sizes:
        return None
    return "number", read[0], i, read[1]


def ordinal(line: Line, i: int) -> Find | None:
    read = ordinal_at(line, i)
    if read is None or not line.is_word(i + 1) or (line.lower(i) == "second" and line.lower(i - 1) in ("a", "per")):
        return None
    return "ordinal", read[0], i, read[1]
