"""A query over records, as it is read from a request."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from doorward.agents.house.sentences import field_words, number, value
from doorward.agents.house.words import plural, singular

Path = tuple[str, ...]
"""A field, before it the links that lead to its collection: `("member", "level")`."""
Operator = Literal[
    "eq", "ne", "in", "gt", "gte", "lt", "lte", "between", "days", "yearly", "none", "missing", "present", "contains"
]
Measure = Literal["list", "count", "exists", "sum", "avg", "max", "min", "values", "groups", "compare", "rank"]

_SAYS = {"gt": "over", "gte": "at least", "lt": "under", "lte": "at most"}


class Condition(msgspec.Struct, frozen=True):
    path: Path
    op: Operator
    value: Any = None


class LinkedCondition(msgspec.Struct, frozen=True):
    """Whether records of another collection refer to a record."""

    collection: str
    link: str
    """The field of that collection that refers to the record."""
    conditions: tuple[Condition, ...] = ()
    negated: bool = False


class RecordQuery(msgspec.Struct, frozen=True, kw_only=True):
    collection: str
    conditions: tuple[Condition, ...] = ()
    linked: tuple[LinkedCondition, ...] = ()
    measure: Measure = "list"
    of: Path = ()
    """The field that is measured or asked for."""
    group: Path = ()
    order: Path = ()
    descending: bool = False
    limit: int = 0
    ranked_by: tuple[str, str] = ("", "")
    """The collection whose records are counted for each record, and its field that refers to it."""


def nouns(collection: str) -> tuple[str, str]:
    """Return what one and several records of a collection are called."""
    words = collection.rpartition(".")[2].replace("_", " ").replace("-", " ")
    one = singular(words)
    return one, plural(one)


def describe_conditions(query: RecordQuery) -> str:
    """Return the conditions in words, with a blank before them."""
    parts = [_describe(one) for one in query.conditions]
    for one in query.linked:
        _, many = nouns(one.collection)
        inner = "".join(f" {_describe(each)}" for each in one.conditions)
        parts.append(f"{'without' if one.negated else 'with'} {many}{inner}")
    return "".join(f" {one}" for one in parts)


def _describe(one: Condition) -> str:
    field = " ".join(dict.fromkeys(field_words(part) for part in one.path))
    if isinstance(one.value, bool):
        return f"with {field} {'yes' if one.value == (one.op == 'eq') else 'no'}"
    if one.op == "eq":
        return f"with {field} {value(one.path[-1], one.value)}"
    if one.op == "ne":
        return f"with another {field} than {value(one.path[-1], one.value)}"
    if one.op == "in":
        return f"with {field} {' or '.join(value(one.path[-1], each) for each in one.value)}"
    if one.op in ("days", "yearly"):
        return f"with {field} {one.value.says}"
    if one.op == "between":
        return f"with {field} between {number(one.value[0])} and {number(one.value[1])}"
    if one.op in ("missing", "none", "present"):
        return f"{'with' if one.op == 'present' else 'without'} {field}"
    if one.op == "contains":
        return f"with “{one.value}” in {field}"
    return f"with {field} {_SAYS[one.op]} {number(one.value)}"
