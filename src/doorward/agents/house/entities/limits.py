"""How many are wanted, and which come first: `last 20 lines`, `top 3`, `10 largest`, `the latest order`."""

from __future__ import annotations

from functools import cache

from doorward.agents.house.entities.entity import End, Limit, Order
from doorward.agents.house.entities.fields import field_at, is_plural
from doorward.agents.house.entities.knowledge import dates, units, vocabulary
from doorward.agents.house.entities.line import Find, Line
from doorward.agents.house.entities.numbers import number_at
from doorward.agents.house.entities.phrases import Phrases, listed

_MOST = 1_000_000


@cache
def _ends() -> Phrases[End]:
    words = vocabulary()
    return Phrases(
        {
            **dict.fromkeys(words.last, "last"),
            **dict.fromkeys(words.first, "first"),
            **dict.fromkeys(words.top, "top"),
            **dict.fromkeys(words.bottom, "top"),
        }
    )


@cache
def _superlatives() -> Phrases[tuple[str, bool]]:
    return Phrases(vocabulary().superlatives)


@cache
def _at_most() -> Phrases[str]:
    return listed(vocabulary().at_most)


@cache
def _most() -> Phrases[bool]:
    return Phrases(vocabulary().most)


def limit(line: Line, i: int) -> Find | None:
    for reading in (_end_and_number, _number_and_quality, _quality, _bounded, _given):
        found = reading(line, i)
        if found is not None:
            return found
    return None


def _number(line: Line, i: int) -> tuple[int, int] | None:
    """A whole number of things: neither a size nor a length of time follows it."""
    at = i + 1 if line.lower(i) in ("the", "my", "our", "only") else i
    read = number_at(line, at)
    if read is None or not float(read[0]).is_integer() or not 0 < read[0] <= _MOST:
        return None
    follows = line.lower(read[1])
    if follows in dates().units or follows in units().sizes or follows in ("percent", "%", "am", "pm"):
        return None
    return int(read[0]), read[1]


def _end_and_number(line: Line, i: int) -> Find | None:
    """`last 20`, `first five`, `top 3`; and one of them, where a single thing follows: `the first order`."""
    for end, at in _ends().every(line.tokens, i):
        down = line.lower(i) not in vocabulary().bottom
        read = _number(line, at)
        if read is not None:
            quality = _superlatives().at(line.tokens, i)
            by = quality[0][0] if quality and quality[1] == at else ""
            return (
                "limit",
                Limit(read[0], end, by, (end == "top" and down) or bool(quality and quality[0][1])),
                i,
                read[1],
            )
    word = line.lower(i)
    if word in vocabulary().top and word == "top" and line.is_word(i + 1) and field_at(line, i + 1):
        return "order", Order("", True), i, i + 1
    if word in ("first", "last", "final") and line.is_word(i + 1):
        follows = line.lower(i + 1)
        if follows in vocabulary().not_after_first or follows in dates().units or follows in dates().weekdays:
            return None
        if follows in dates().months or follows in ("night", "weekend", "couple", "few", "and", "or"):
            return None
        if not is_plural(follows) and follows not in vocabulary().field_stops:
            return "limit", Limit(1, "first" if word == "first" else "last"), i, i + 1
    return None


def _number_and_quality(line: Line, i: int) -> Find | None:
    """`10 largest`, `five most recent`, `the 3 last`."""
    read = _number(line, i)
    if read is None:
        return None
    n, at = read
    quality = _superlatives().at(line.tokens, at)
    if quality is not None:
        (by, down), behind = quality
        return "limit", Limit(n, _end(by, down), by, down), i, behind
    if line.lower(at) in ("first", "last", "top"):
        end: End = "first" if line.lower(at) == "first" else "last" if line.lower(at) == "last" else "top"
        return "limit", Limit(n, end, "", end == "top"), i, at + 1
    if line.lower(at) in ("highest", "lowest", "greatest"):
        return "limit", Limit(n, "top", "", line.lower(at) != "lowest"), i, at + 1
    return None


def _end(by: str, down: bool) -> End:
    if by == "time":
        return "last" if down else "first"
    return "top"


def _quality(line: Line, i: int) -> Find | None:
    """`the largest file` is one; `largest files` and `largest first` are an order."""
    found = _superlatives().at(line.tokens, i)
    if found is None:
        return _most_of(line, i)
    (by, down), at = found
    if line.lower(at) == "first":
        return "order", Order(by, down), i, at + 1
    read = _number(line, at)
    if read is not None:
        return "limit", Limit(read[0], _end(by, down), by, down), i, read[1]
    follows = line.lower(at)
    if by == "count" and line.is_word(at) and not is_plural(follows):
        return "limit", Limit(1, "top", by, down), i, at
    if line.is_word(at) and (is_plural(follows) or follows in ("of", "first")) and follows != "of":
        return "order", Order(by, down), i, at
    return "limit", Limit(1, _end(by, down), by, down), i, at


def _most_of(line: Line, i: int) -> Find | None:
    """`the most orders`: they are counted, and whoever has most of them comes first."""
    found = _most().at(line.tokens, i)
    if found is None:
        return None
    down, at = found
    if line.lower(at) in vocabulary().not_counted or (line.lower(i - 1) == "at"):
        return None
    if any(end > at for _, end in _superlatives().every(line.tokens, at - 1)):
        return None
    field = field_at(line, at, most=2)
    if field is None:
        return None
    return "order", Order("count", down, field[0]), i, field[1]


def _bounded(line: Line, i: int) -> Find | None:
    """`at most 50 orders`, `limit 10`, `no more than five`."""
    found = _at_most().at(line.tokens, i)
    if found is None:
        return None
    word, at = found
    read = _number(line, at)
    if read is None:
        return None
    things = line.is_word(read[1]) and is_plural(line.lower(read[1]))
    strong = word.startswith(("limit", "cap", "max")) or (word == "up to")
    if not (things or strong) or (word in ("only", "just") and not things):
        return None
    return "limit", Limit(read[0], ""), i, read[1]


def _given(line: Line, i: int) -> Find | None:
    """`show me 5 orders`: a number of things straight behind the verb."""
    words = vocabulary()
    back = i - 1
    while back >= 0 and line.lower(back) in words.to_whom:
        back -= 1
    if back < 0 or line.lower(back) not in words.giving:
        return None
    read = _number(line, i)
    if read is None or not line.is_word(read[1]) or line.lower(read[1]) in words.field_stops:
        return None
    if read[0] == 1 and line.lower(i) == "one" and line.lower(read[1]) == "of":
        return None
    return "limit", Limit(read[0], ""), i, read[1]
