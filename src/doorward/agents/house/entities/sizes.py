"""Sizes of files: `larger than 1 MB`, `over 500k`, `between 1 and 5 megabytes`, `empty`."""

from __future__ import annotations

from functools import cache

from doorward.agents.house.entities.entity import Compare, Op
from doorward.agents.house.entities.knowledge import kinds, units, vocabulary
from doorward.agents.house.entities.line import Find, Line
from doorward.agents.house.entities.numbers import figures, number_at
from doorward.agents.house.entities.phrases import Phrases, listed

_ORDERED: tuple[Op, ...] = ("gt", "gte", "lt", "lte")
_SAYS = {"gt": "larger than", "gte": "of at least", "lt": "smaller than", "lte": "of at most", "eq": "of exactly"}


@cache
def _ops() -> Phrases[Op]:
    compare = vocabulary().compare
    exact: dict[str, Op] = dict.fromkeys(("exactly", "of exactly", "of size", "sized"), "eq")
    return Phrases({**{phrase: op for op in _ORDERED for phrase in compare[op]}, **exact})


@cache
def _more() -> Phrases[Op]:
    return Phrases(vocabulary().or_more)


@cache
def _empty() -> Phrases[str]:
    return listed(units().empty)


def amount_at(line: Line, i: int) -> tuple[float, bool, str, int] | None:
    """How many bytes are named at a token, whether they could be a plain number, the words for it, and the end."""
    table, short = units().sizes, units().also_numbers
    if line.shape(i) == "number":
        read = figures(line.lower(i))
        if read is not None and read[1] in table:
            return read[0] * table[read[1]], read[1] in short, line.tokens[i].text, i + 1
    if line.lower(i) in ("a", "an", "one") and line.lower(i + 1) in table and line.lower(i + 1) not in short:
        return float(table[line.lower(i + 1)]), False, f"1 {line.tokens[i + 1].text}", i + 2
    number = number_at(line, i)
    if number is None:
        return None
    value, at = number
    unit = line.lower(at)
    if unit in table and (unit not in short or line.shape(i) == "number"):
        return value * table[unit], unit in short, f"{value:g} {line.tokens[at].text}", at + 1
    return None


def size(line: Line, i: int) -> Find | None:
    word = line.lower(i)
    if word in ("between", "and"):
        return _between(line, i)
    empty = _empty().at(line.tokens, i)
    if empty is not None:
        near = (i - 1, i - 2, i - 3, empty[1])
        if any(about_files(line, k) for k in near):
            return "size", Compare("eq", 0, "empty"), i, empty[1]
    for op, at in _ops().every(line.tokens, i):
        found = amount_at(line, at + 1 if line.lower(at) == "than" else at)
        if found is not None and (not found[1] or _is_size(line, i)):
            amount, _, words, end = found
            end = end + 1 if line.lower(end) in ("size", "big", "large") else end
            return "size", Compare(op, amount, f"{_SAYS[op]} {words}"), i, end
    found = amount_at(line, i)
    if found is not None:
        more = _more().at(line.tokens, found[3])
        if more is not None and (not found[1] or _is_size(line, i)):
            return "size", Compare(more[0], found[0], f"{_SAYS[more[0]]} {found[2]}"), i, more[1]
    return None


def _between(line: Line, i: int) -> Find | None:
    """Both ends of a range are finds of their own: `between 1 MB`, and then `and 5 MB`."""
    if line.lower(i) == "and":
        begun = line.found[-1] if line.found else None
        if (
            begun is None
            or begun.kind != "size"
            or not begun.words.lower().startswith("between")
            or line.is_free(i - 1)
        ):
            return None
        found = amount_at(line, i + 1)
        return ("size", Compare("lte", found[0], f"of at most {found[2]}"), i, found[3]) if found else None
    found = amount_at(line, i + 1)
    if found is None:
        number = number_at(line, i + 1)
        behind = amount_at(line, number[1] + 1) if number and line.lower(number[1]) == "and" else None
        if number is None or behind is None or (behind[1] and not _is_size(line, i)):
            return None
        scale = units().sizes.get(line.lower(behind[3] - 1), 0) or units().sizes.get(_unit_on(line, behind[3] - 1), 1)
        amount = number[0] * scale
        return "size", Compare("gte", amount, f"of at least {number[0]:g} {line.lower(behind[3] - 1)}"), i, number[1]
    second = amount_at(line, found[3] + 1) if line.lower(found[3]) == "and" else None
    if second is None or (found[1] and not _is_size(line, i)):
        return None
    return "size", Compare("gte", found[0], f"of at least {found[2]}"), i, found[3]


def _unit_on(line: Line, i: int) -> str:
    read = figures(line.lower(i))
    return read[1] if read else ""


def _is_size(line: Line, i: int) -> bool:
    """Whether `500k` is a size here: files are spoken of, or nothing else is."""
    sizes = units()
    if line.lower(i) in sizes.bigger or line.lower(i - 1) in sizes.bigger:
        return True
    if any(about_files(line, k) for k in range(len(line.tokens))):
        return True
    return not any(line.is_word(k) and line.lower(k) not in vocabulary().field_stops for k in range(max(0, i - 3), i))


def about_files(line: Line, i: int) -> bool:
    if line.shape(i) in ("path", "glob"):
        return True
    return line.is_word(i) and (line.tokens[i].stem in _file_stems() or line.lower(i) in kinds().folder_words)


@cache
def _file_stems() -> frozenset[str]:
    from_words = {one.rstrip("ey") for one in units().about_files} | set(units().about_files)
    return frozenset(from_words | {"director"})
