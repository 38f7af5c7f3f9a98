"""The words that name a field of records, as far as a request without knowledge of the fields can tell."""

from __future__ import annotations

from functools import cache

from doorward.agents.house.entities.knowledge import dates, vocabulary
from doorward.agents.house.entities.line import Line

_SINGULAR_ENDS = ("ss", "us", "is", "as", "os")
_SINGULAR = frozenset(("news", "series", "access", "address", "status", "process", "class", "business", "canvas"))
_PLURAL = frozenset(("people", "children", "men", "women", "data", "media", "criteria"))


def is_plural(word: str) -> bool:
    if word in _PLURAL:
        return True
    return word.endswith("s") and word not in _SINGULAR and not word.endswith(_SINGULAR_ENDS)


@cache
def stops() -> frozenset[str]:
    return frozenset(vocabulary().field_stops) | frozenset(dates().days)


def field_at(line: Line, i: int, most: int = 3) -> tuple[str, int] | None:
    """The words of a field that begin at a token, and where they end. Articles before them are passed over."""
    at = i
    while line.lower(at) in vocabulary().articles and at < i + 2:
        at += 1
    start = at
    while line.is_word(at) and at - start < most and (line.lower(at) not in stops() or _is_name_part(line, at)):
        at += 1
    if at == start:
        if line.shape(at) == "quoted":
            return line.tokens[at].text[1:-1], at + 1
        return None
    return " ".join(one.lower for one in line.tokens[start:at]), at


def _is_name_part(line: Line, i: int) -> bool:
    """Whether `first` and `last` belong to a field, as in `last name`."""
    return line.lower(i) in ("first", "last") and line.lower(i + 1) in vocabulary().not_after_first[:-1]


def field_before(line: Line, i: int, most: int = 2) -> tuple[str, int]:
    """The words of a field that end just before a token, and where they begin; no words where there are none."""
    at = i
    while (
        at > 0 and i - at < most and line.is_word(at - 1) and line.is_free(at - 1) and line.lower(at - 1) not in stops()
    ):
        if line.lower(at - 1) in vocabulary().acts and line.lower(at - 1) not in vocabulary().also_nouns:
            break
        at -= 1
    return " ".join(one.lower for one in line.tokens[at:i]), at


def boundary(line: Line, i: int) -> bool:
    """Whether a sentence or a part of it ends before a token."""
    return not line.is_word(i) or line.lower(i) in stops()
