"""Conditions on records: `amount over 100`, `status is paid`, `named bob`, `with no email`, `between 10 and 20`."""

from __future__ import annotations

from functools import cache

import msgspec

from doorward.agents.house.entities.doers import deed, placed
from doorward.agents.house.entities.entity import Compare, Comparison, Op
from doorward.agents.house.entities.fields import boundary, field_at, field_before, is_plural, stops
from doorward.agents.house.entities.knowledge import kinds, vocabulary
from doorward.agents.house.entities.line import Find, Line
from doorward.agents.house.entities.phrases import Phrases, listed
from doorward.agents.house.entities.sizes import about_files
from doorward.agents.house.entities.values import Read, day_at, measured_at, value_at, values_at

_ORDERED = ("gt", "gte", "lt", "lte")
_ALONE = ("empty", "notempty")
_COPULAS = ("is", "are", "was", "were", "be", "been", "being")
_STRONG = ("where", "whose", "with", "having", "filter", "such", "for")


@cache
def _ops() -> Phrases[tuple[Op, str]]:
    return Phrases({phrase: (op, phrase) for op, many in vocabulary().compare.items() for phrase in many})


@cache
def _introducers() -> Phrases[str]:
    return listed(vocabulary().introducers)


@cache
def _named() -> Phrases[str]:
    return Phrases(vocabulary().named)


@cache
def _without() -> Phrases[str]:
    return listed(vocabulary().without)


@cache
def _with_any() -> Phrases[str]:
    return listed(vocabulary().with_any)


@cache
def _more() -> Phrases[Op]:
    return Phrases(vocabulary().or_more)


def begins_comparison(line: Line, i: int) -> bool:
    """Whether a comparison stands here, so that the words before are a field."""
    found = _compared(line, i)
    return found is not None


class _Compared(msgspec.Struct, frozen=True):
    op: Op
    read: Read
    plain: bool
    """Whether the words of it are so common that they prove nothing."""


def _compared(line: Line, i: int) -> _Compared | None:
    """A word of comparison with its value behind it."""
    if line.lower(i) == ":" and line.touches(i) and line.touches(i + 1):
        read = value_at(line, i + 1)
        return _Compared("eq", read, plain=False) if read else None
    start = i + 1 if line.lower(i) in (*_COPULAS, "of") else i
    if line.lower(start) == "between":
        return _between(line, start)
    plain_words = vocabulary().plain_ops
    for (op, phrase), at in (*_ops().every(line.tokens, start), *(_ops().every(line.tokens, i) if start > i else ())):
        if op in _ORDERED:
            read = measured_at(line, at)
        elif op in _ALONE:
            read = (None, "", at)
        else:
            read = values_at(line, at)
        if read is None:
            continue
        if isinstance(read[0], tuple):
            op = "in" if op in ("eq", "in") else op
        if op == "in" and not isinstance(read[0], tuple):
            op = "eq"
        return _Compared(op, read, plain=phrase in plain_words)
    return None


def _between(line: Line, i: int) -> _Compared | None:
    first = measured_at(line, i + 1)
    if first is None or line.lower(first[2]) not in ("and", "to", "-"):
        return None
    second = measured_at(line, first[2] + 1)
    if second is not None and "bytes" in (first[1], second[1]):
        return None
    if second is None or not isinstance(first[0], str | int | float) or not isinstance(second[0], str | int | float):
        return None
    if isinstance(first[0], str) != isinstance(second[0], str):
        return None
    return _Compared("between", ((first[0], second[0]), second[1], second[2]), plain=False)


def compare(line: Line, i: int) -> Find | None:
    """The condition that begins at a token."""
    for reading in (_by_name, _lacking, _introduced, _having_any, _bare, _more_or_less, placed, deed):
        found = reading(line, i)
        if found is not None:
            return found
    return None


def _find(field: str, got: _Compared, start: int, *, introduced: bool, also: bool = True) -> Find:
    value, unit, end = got.read
    if unit == "bytes" and field in ("size", "file size", "sizes") and isinstance(value, int | float):
        return "size", Compare(got.op, value, f"of a size {got.op} {value:g}"), start, end
    return "compare", Comparison(field, got.op, value, introduced, unit, also), start, end


def _by_name(line: Line, i: int) -> Find | None:
    """`named bob`, `with status paid`, `titled "The end"`."""
    found = _named().at(line.tokens, i)
    if found is None:
        return None
    field, at = found
    at = at + 1 if line.lower(at) in ("is", "=", ":", "of") else at
    if _compared(line, at) is not None and line.lower(at) not in _COPULAS and line.shape(at) != "quoted":
        return None
    read = values_at(line, at)
    if read is None or (
        line.lower(at) in vocabulary().acts
        and line.shape(at) == "word"
        and line.lower(at) not in vocabulary().also_nouns
    ):
        return None
    shape = line.shape(at)
    if field == "name" and isinstance(read[0], str) and shape in ("path", "glob"):
        return "path" if shape == "path" else "glob", read[0], i, read[2]
    got = _Compared("in" if isinstance(read[0], tuple) else "eq", read, plain=False)
    return _find(field, got, i, introduced=True)


def _lacking(line: Line, i: int) -> Find | None:
    """`with no email`, `that have no address`."""
    found = _without().at(line.tokens, i)
    field = field_at(line, found[1], most=2) if found else None
    if field is None or field[0].endswith("ing") or (line.lower(i) == "missing" and i == 0):
        return None
    return "compare", Comparison(field[0], "empty", None, introduced=True), i, field[1]


def _having_any(line: Line, i: int) -> Find | None:
    """`with an email`, and nothing more said of it."""
    found = _with_any().at(line.tokens, i)
    field = field_at(line, found[1], most=2) if found else None
    if field is None or (line.is_word(field[1]) and line.lower(field[1]) not in stops()):
        return None
    if line.lower(field[1]) in ("of", "called", "named", "like", "containing", "saying"):
        return None
    return "compare", Comparison(field[0], "notempty", None, introduced=True), i, field[1]


def _introduced(line: Line, i: int) -> Find | None:
    """`with a total over 100`, `whose status is paid`, `that are shipped`, and what follows with `and`."""
    goes_on = bool(line.found) and line.taken[-1][1] == i and line.found[-1].kind in ("compare", "size", "age")
    if line.lower(i) in ("which", "who", "that", "has", "have") and not line.is_word(i - 1):
        return None
    for word, at in _introducers().every(line.tokens, i):
        weak = word in vocabulary().weak_introducers
        also = line.lower(i) != "or"
        strong = word.split()[0] in _STRONG
        for most in (0, 1, 2, 3):
            field, behind = ("", at) if not most else _exact_field(line, at, most)
            if most and not field:
                break
            got = _compared(line, behind)
            if got is None:
                dated = _dated(line, behind) if field else None
                got = dated if strong or goes_on else None
            if got is None and strong and field:
                read = value_at(line, behind, telling=True) or (
                    measured_at(line, behind) if line.shape(behind) == "number" else None
                )
                got = _Compared("eq", read, plain=False) if read else None
            if got is None:
                continue
            if (
                not field
                and (strong or (weak and word in ("and", "or", "but", "of")))
                and not (goes_on and not got.plain)
            ):
                continue
            if (
                weak
                and got.plain
                and not goes_on
                and not (word in ("that", "who", "which") and not field and _ends(line, got))
            ):
                continue
            if weak and word in ("and", "or", "but") and not goes_on and not field:
                continue
            if got.plain and isinstance(got.read[0], str) and not _ends(line, got):
                continue
            if got.op == "empty" and not field and about_files(line, i - 1):
                continue
            return _find(field, got, i, introduced=bool(field), also=also)
        soft = _field_and_value(line, at) if line.lower(i) == "with" else None
        if soft is not None:
            return "compare", Comparison(soft[0], "eq", soft[1]), i, soft[2]
        if word in ("that are", "which are", "who are", "that is", "which is", "who is", "that were", "which were"):
            read = values_at(line, at)
            if read is not None and isinstance(read[0], str | tuple) and boundary(line, read[2]):
                op: Op = "in" if isinstance(read[0], tuple) else "eq"
                return "compare", Comparison("", op, read[0], False), i, read[2]
    return None


def _field_and_value(line: Line, i: int) -> tuple[str, str, int] | None:
    """`with priority urgent`: a field and a value of one word each, which end the part and are no plurals."""
    field, at = _exact_field(line, i, 1)
    words = vocabulary()
    if (
        not field
        or is_plural(field)
        or any(field in one.words for one in kinds().kinds)
        or not line.is_word(at)
        or not boundary(line, at + 1)
    ):
        return None
    value = line.lower(at)
    if is_plural(value) or value in words.not_values or value in stops() or value in kinds().files:
        return None
    return field, line.tokens[at].text, at + 1


def _exact_field(line: Line, i: int, most: int) -> tuple[str, int]:
    """Just so many words of a field, or none."""
    start = i + 1 if line.lower(i) in vocabulary().articles else i
    end = start + most
    if any(not line.is_word(k) or line.lower(k) in stops() for k in range(start, end)):
        return "", i
    return " ".join(one.lower for one in line.tokens[start:end]), end


def _dated(line: Line, i: int) -> _Compared | None:
    """A field with a bound of time behind it: `with a due date before Friday`."""
    word = line.lower(i)
    if word not in ("before", "after", "since", "until", "on"):
        return None
    found = day_at(line, i + 1)
    if found is None:
        return None
    first, behind, end = found
    ops: dict[str, tuple[Op, str]] = {
        "before": ("lt", first),
        "after": ("gte", behind),
        "since": ("gte", first),
        "until": ("lt", behind),
    }
    if word == "on":
        return _Compared("between", ((first, behind), "", end), plain=False)
    op, value = ops[word]
    return _Compared(op, (value, "", end), plain=False)


def _bare(line: Line, i: int) -> Find | None:
    """A comparison without a word that introduces it; the words before it may be the field or the thing."""
    got = _compared(line, i)
    if got is None:
        return None
    if got.op in _ORDERED and line.lower(i) in _COPULAS and (got.read[1] == "bytes" or _is_age(line, i, got)):
        return None
    if line.lower(i) in _COPULAS and _named().at(line.tokens, i + 1) is not None:
        return None
    field, start = field_before(line, i)
    value = got.read[0]
    if got.plain or (line.lower(i) in _COPULAS and got.op in ("eq", "ne", "in")):
        if line.lower(start - 1) == "how" or line.lower(i) == "has":
            return None
        if not field or not (isinstance(value, int | float) or _ends(line, got)):
            return None
        if line.shape(got.read[2] - 1) == "path" and line.lower(i) in _COPULAS:
            return None
    if got.op == "empty" and (about_files(line, i - 1) or about_files(line, i - 2)):
        return None
    if got.op in _ORDERED:
        field = _quality(line, i, got) or field
    return _find(field, got, i, introduced=False)


def _is_age(line: Line, i: int, got: _Compared) -> bool:
    """Whether `are older than 30 days` stands here, which is an age of its own and no comparison of a field."""
    return got.read[1] == "seconds" and line.lower(i + 1) in ("older", "newer", "younger")


def _quality(line: Line, i: int, got: _Compared) -> str:
    """The field that a word of comparison is about by itself: `cheaper than` is about a price."""
    word = line.lower(i + 1) if line.lower(i) in (*_COPULAS, "more", "less") else line.lower(i)
    quality = vocabulary().comparatives.get(word, "")
    return quality if quality != "duration" or got.read[1] == "seconds" else ""


def _ends(line: Line, got: _Compared) -> bool:
    """Whether a sentence or a part of it ends behind the value, so that the value is all of what is compared with."""
    return isinstance(got.read[0], bool | int | float | tuple) or got.op in _ALONE or boundary(line, got.read[2])


def _more_or_less(line: Line, i: int) -> Find | None:
    """`100 or more`."""
    if line.shape(i) not in ("number", "word"):
        return None
    read = measured_at(line, i)
    more = _more().at(line.tokens, read[2]) if read else None
    if read is None or more is None:
        return None
    field, _ = field_before(line, i)
    return "compare", Comparison(field, more[0], read[0], False, read[1]), i, more[1]
