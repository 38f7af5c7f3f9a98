"""What a request says about which records are meant, as a filter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from doorward.agents.house import dating, knowledge
from doorward.agents.house.entities import Comparison, Span, stem
from doorward.agents.house.fields import Table
from doorward.agents.house.said import Said
from doorward.agents.house.slots import within

_OPS = {"eq": "$eq", "ne": "$ne", "gt": "$gt", "gte": "$gte", "lt": "$lt", "lte": "$lte"}
_TEXTS = {"contains": "%{}%", "starts": "{}%", "ends": "%{}"}
_NUMBERS = ("number", "integer")
_NUMERIC = ("gt", "gte", "lt", "lte")


class Clause(msgspec.Struct, frozen=True):
    """One condition, and whether it must hold beside the others or instead of the one before."""

    where: dict[str, Any]
    also: bool = True
    later: int = 0
    """In which of several requests that go on from each other it was said: the last one counts."""
    at: int = -1
    """Where in the request it stands."""


class Unclear(msgspec.Struct, frozen=True):
    """A value whose field was not said."""

    value: Any
    op: str = "eq"
    hint: str = ""
    """The words before it, such as `in` or `from`."""
    also: bool = True
    weak: bool = False
    """Whether the word may as well mean nothing here: then it counts only where records hold just that."""
    later: int = 0
    at: int = -1
    named: bool = False
    """Whether it is written as a name is, so that it is a value for sure."""


def compared(table: Table, one: Comparison, names: Iterable[str], number: str = "") -> Clause | Unclear | None:
    """A comparison as a condition; `Unclear` where only a value was said, None where it says nothing.

    `number` is the field that figures are about where no other is named.
    """
    own = {stem(word) for name in names for word in name.split()}
    words = [
        word for word in one.field.lower().split() if stem(word) not in own and word not in ("the", "a", "is", "are")
    ]
    said = one.field.lower().split()
    if len(said) > 1 and stem(said[-1]) in own and "of" not in said:
        # `High priority tickets are open` says what the tickets are, and not what their priority is.
        words = []
    figures = one.value if isinstance(one.value, tuple) else (one.value,)
    if one.op in (*_NUMERIC, "between") and not any(isinstance(each, str | bool) or each is None for each in figures):
        field = table.find(words, _NUMBERS) if words else ""
        field = field or number or table.amount()
        wanted = {"$between": list(figures)} if one.op == "between" else {_OPS[one.op]: one.value}
        return Clause({field: wanted}, one.also) if field else Unclear(one.value, one.op, one.field)
    field = table.find(words) if words else ""
    loose = field and one.op in ("eq", "ne") and isinstance(one.value, str) and not table.names(field, words)
    if not field or loose:
        return Unclear(one.value, one.op, one.field, one.also, named=str(one.value)[:1].isupper())
    return Clause(condition(table, field, one.op, one.value), one.also)


def condition(table: Table, field: str, op: str, value: Any) -> dict[str, Any]:
    """A field and what is wanted of it."""
    kind = table.fields.get(field, "")
    if op == "empty":
        return {"$or": [{field: None}, {field: ""}]} if kind in ("text", "string") else {field: None}
    if op == "notempty":
        return {"$and": [{field: {"$ne": None}}, {field: {"$ne": ""}}]}
    if isinstance(value, tuple):
        if op == "between":
            return {field: {"$between": list(value)}}
        either = {"$or": [condition(table, field, "eq", one) for one in value]}
        return {"$not": either} if op == "ne" else either
    if op in _TEXTS:
        return {field: {"$ilike": _TEXTS[op].format(liked(str(value)))}}
    if kind == "boolean":
        truth = str(value).lower() not in ("false", "no", "off", "0", "none")
        return {field: truth if op != "ne" else not truth}
    if kind in ("number", "integer"):
        number = as_number(value)
        if number is not None:
            return {field: number} if op == "eq" else {field: {_OPS.get(op, "$eq"): number}}
    if isinstance(value, str) and op in ("eq", "ne"):
        like = {field: {"$ilike": liked(value)}}
        return like if op == "eq" else {"$not": like}
    return {field: {_OPS.get(op, "$eq"): value}}


def as_number(value: Any) -> float | int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    text = str(value).replace(",", "").lstrip("$€£")
    try:
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:
        return None


def timed(table: Table, span: Span, said: Said, now: float) -> tuple[dict[str, Any], str, Span]:
    """A stretch of time as a condition on the field that is meant by it, the field where it needs to be said, and the
    stretch as it is meant for it."""
    if dating.own_dates(table):
        meant = dating.meant(table, said, span.about)
        span = dating.ahead(meant.field, span, said, now)
        return {meant.field: dating.bounds(table, meant.field, span)}, "" if meant.sure else meant.field, span
    field = ""
    if span.about == "changed" and "updatedAt" in table.fields:
        field = "updatedAt"
    elif span.about == "created" and "createdAt" in table.fields:
        field = "createdAt"
    if not field or table.kind != "system":
        named = _time_field(table, said)
        field = named or field
    if not field:
        changed = said.has("change") and "updatedAt" in table.fields
        field = "updatedAt" if changed else table.time
    bounds = within(span)
    return ({field: bounds} if field and bounds else {}), "", span


def _time_field(table: Table, said: Said) -> str:
    """A field of a time that the request speaks of by its own name, such as `shipped` for `shippedAt`."""
    stems = {one.stem for one in said.words}
    for name in table.of("time", "date", "date-time", "text", "string"):
        if name in ("createdAt", "updatedAt", "at") or not re.search(r"(?:At|_at|On|_on|Date|_date|date)$", name):
            continue
        telling = re.sub(r"(?:At|_at|On|_on|Date|_date)$", "", name)
        if stem(telling.lower()) in stems:
            return name
    return ""


def known_value(table: Table, word: str) -> dict[str, Any] | None:
    """A word that stands for a condition in a collection of the house, such as `failed`."""
    one = value_of(table, word)
    return {one.field: one.condition} if one is not None else None


def value_of(table: Table, word: str) -> knowledge.Values | None:
    for one in knowledge.things().values:
        here = one.collection in ("", table.name) and one.field in table.fields
        if here and knowledge.phrase(word) in knowledge.phrases(one.words):
            return one
    return None


def together(clauses: list[Clause]) -> dict[str, Any]:
    """All conditions as one filter."""
    clauses = _merged(sorted(clauses, key=lambda one: one.at))
    if not clauses:
        return {}
    groups: list[list[dict[str, Any]]] = []
    for one in clauses:
        if one.also or not groups:
            groups.append([one.where])
        else:
            groups[-1].append(one.where)
    made = [group[0] if len(group) == 1 else {"$or": group} for group in groups]
    if len(made) == 1:
        return made[0]
    keys = [key for one in made for key in one]
    if len(set(keys)) == len(keys):
        return {key: value for one in made for key, value in one.items()}
    return {"$and": made}


def joins(said: Said, clauses: list[Clause], where: dict[str, Any]) -> bool:
    """Whether every `or` between conditions is one in the filter as well: what was said as a choice is never a sum."""
    taken = [(one.start, one.end) for one in said.reading.found if one.kind not in ("group", "order")]
    free = [
        word
        for word in said.reading.tokens
        if word.lower == "or" and not any(start <= word.start and word.end <= end for start, end in taken)
    ]
    chosen = any(not one.also for one in clauses[1:]) or '"$or"' in str(where).replace("'", '"') or "$in" in str(where)
    return not free or chosen or len(clauses) < 2


def _merged(clauses: list[Clause]) -> list[Clause]:
    """Several values of one field are alternatives, whatever stands between them: no record has two of them."""
    found: list[Clause] = []
    for one in clauses:
        field, values = _wanted(one)
        place = next((at for at, each in enumerate(found) if field and _wanted(each)[0] == field), -1)
        if place < 0:
            found.append(one)
            continue
        if one.later != found[place].later:
            found[place] = one if one.later > found[place].later else found[place]
            continue
        before = _wanted(found[place])[1]
        many = [*before, *(each for each in values if each not in before)]
        where = {field: {"$in": many} if len(many) > 1 else many[0]}
        found[place] = msgspec.structs.replace(found[place], where=where)
    return found


def _wanted(one: Clause) -> tuple[str, list[Any]]:
    """The field and the values that a condition lets through, where it is only about these."""
    if len(one.where) != 1:
        return "", []
    ((field, given),) = one.where.items()
    if isinstance(given, dict) and given.keys() == {"$in"}:
        return field, list(given["$in"])
    plain = isinstance(given, str | int | float) and not isinstance(given, bool)
    return (field, [given]) if plain and not field.startswith("$") else ("", [])


def liked(text: str) -> str:
    """A text for a comparison that takes % and _ as signs of its own."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
