"""R7.2: what filters mean, checked against a model of them in plain Python."""

from __future__ import annotations

import functools
import json
import re
import sqlite3
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorward.core.classification import Access
from doorward.core.errors import BadParams
from doorward.store import collection_queries, migrations, sql_functions
from doorward.store.filters import MAX_CONDITIONS, MAX_DEPTH, MAX_LIST, MAX_VALUES, OPERATORS
from doorward.store.managed_collections import ManagedCollection
from doorward.store.scope import Scope
from doorward.store.system_collections import SYSTEM

SCOPE = Scope("t", frozenset({"ada"}), Access.ROOT)
NOTES = ManagedCollection("t", "notes", {"type": "object"}, 1)
MISSING = object()


@functools.cache
def database() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrations.migrate(db)
    sql_functions.install(db, {})
    db.execute("INSERT INTO collections VALUES ('t', 'notes', '{}', 1, 0.0)")
    return db


def house(bodies: list[dict[str, Any]]) -> sqlite3.Connection:
    db = database()
    db.execute("DELETE FROM records")
    for number, body in enumerate(bodies):
        text = json.dumps(body, ensure_ascii=False)
        db.execute("INSERT INTO records VALUES ('t', 'notes', ?, ?, 1, 0.0, 0.0, 'ada')", (f"{number:04}", text))
    return db


def found(db: sqlite3.Connection, where: dict[str, Any]) -> list[int]:
    page = collection_queries.page(db, NOTES, SCOPE, where=where, limit=1_000)
    return [int(item["id"]) for item in page.items]


def ids(bodies: list[dict[str, Any]], where: dict[str, Any]) -> list[int]:
    return found(house(bodies), where)


# The model: written from the documented meaning, without a look at the SQL.


def value_at(body: Any, path: str) -> Any:
    for step in path.split("."):
        if not isinstance(body, dict) or step not in body:
            return MISSING
        body = body[step]
    return body


def kind(value: Any) -> str:
    if value is MISSING or value is None:
        return "null"
    return {bool: "bool", int: "number", float: "number", str: "text", list: "list"}.get(type(value), "object")


def same(value: Any, wanted: Any) -> bool:
    return kind(value) == kind(wanted) and (kind(wanted) == "null" or value == wanted)


def like(value: Any, pattern: str, flags: int) -> bool:
    parts = {"%": ".*", "_": "."}
    regex = "".join(parts.get(one, re.escape(one)) for one in pattern)
    return kind(value) == "text" and re.fullmatch(regex, value, flags | re.DOTALL) is not None


def ordered(value: Any, wanted: Any) -> bool:
    return kind(value) == kind(wanted) and kind(value) in ("number", "text")


def holds(value: Any, operator: str, wanted: Any) -> bool:
    match operator:
        case "$eq":
            return same(value, wanted)
        case "$ne":
            return not same(value, wanted)
        case "$gt":
            return ordered(value, wanted) and value > wanted
        case "$gte":
            return ordered(value, wanted) and value >= wanted
        case "$lt":
            return ordered(value, wanted) and value < wanted
        case "$lte":
            return ordered(value, wanted) and value <= wanted
        case "$between":
            return holds(value, "$gte", wanted[0]) and holds(value, "$lte", wanted[1])
        case "$in":
            return any(same(value, one) for one in wanted)
        case "$nin":
            return not any(same(value, one) for one in wanted)
        case "$exists":
            return (value is not MISSING) is wanted
        case "$null":
            return (kind(value) == "null") is wanted
        case "$contains":
            if kind(value) == "text":
                return isinstance(wanted, str) and wanted in value
            return kind(value) == "list" and any(same(one, wanted) for one in value)
        case "$regex":
            return kind(value) == "text" and re.search(wanted, value) is not None
        case "$like":
            return like(value, wanted, 0)
        case "$ilike":
            return like(value, wanted, re.IGNORECASE)
        case "$not":
            return not meets(value, wanted)
    raise AssertionError(operator)


def meets(value: Any, condition: Any) -> bool:
    if not isinstance(condition, dict):
        return same(value, condition)
    return all(holds(value, operator, wanted) for operator, wanted in condition.items())


def passes(body: dict[str, Any], where: dict[str, Any]) -> bool:
    def one(key: str, condition: Any) -> bool:
        match key:
            case "$and":
                return all(passes(body, each) for each in condition)
            case "$or":
                return any(passes(body, each) for each in condition)
            case "$nor":
                return not any(passes(body, each) for each in condition)
            case "$not":
                return not passes(body, condition)
        return meets(value_at(body, key), condition)

    return all(one(key, condition) for key, condition in where.items())


texts = st.text("abAB.%_ é'\"\\", max_size=4)
numbers = st.integers(-3, 3) | st.sampled_from([0.5, -1.25, 2.0, 2**53, -(2**62), 1e300])
scalars = st.none() | st.booleans() | numbers | texts
stored = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2)
)
fields = st.sampled_from(["a", "b", "x.y", "a.x"])
bodies = st.lists(st.dictionaries(st.sampled_from("abx"), stored, max_size=3), max_size=6)
comparable = numbers | texts
flat = (
    st.tuples(st.sampled_from(["$eq", "$ne"]), scalars)
    | st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), comparable)
    | st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(scalars, max_size=4))
    | st.tuples(st.sampled_from(["$exists", "$null"]), st.booleans())
    | st.tuples(st.just("$contains"), scalars)
    | st.tuples(st.just("$regex"), st.sampled_from(["^a", "b$", "a.b", "[AB]", "é", "^$", "(?i)ab"]))
    | st.tuples(st.sampled_from(["$like", "$ilike"]), st.text("abAB%_.", max_size=4))
    | st.tuples(st.just("$between"), st.tuples(numbers, numbers).map(list) | st.tuples(texts, texts).map(list))
)
conditions = st.recursive(
    scalars | st.lists(flat, min_size=1, max_size=3).map(dict),
    lambda inner: inner.map(lambda one: {"$not": one}),
    max_leaves=3,
)
filters = st.recursive(
    st.dictionaries(fields, conditions, max_size=2),
    lambda inner: (
        st.tuples(st.sampled_from(["$and", "$or", "$nor"]), st.lists(inner, min_size=1, max_size=3)).map(
            lambda pair: dict([pair])
        )
        | inner.map(lambda one: {"$not": one})
    ),
    max_leaves=4,
)


@settings(max_examples=250, deadline=None)
@given(bodies, filters)
def test_filters_find_what_the_model_finds(some: list[dict[str, Any]], where: dict[str, Any]) -> None:
    assert ids(some, where) == [number for number, body in enumerate(some) if passes(body, where)]


@settings(max_examples=100, deadline=None)
@given(bodies, filters)
def test_not_is_the_exact_complement(some: list[dict[str, Any]], where: dict[str, Any]) -> None:
    db = house(some)
    assert sorted(found(db, where) + found(db, {"$not": where})) == list(range(len(some)))


def test_a_missing_field_is_unequal_to_everything_but_null() -> None:
    some: list[dict[str, Any]] = [{}, {"a": None}, {"a": 1}]
    assert ids(some, {"a": {"$ne": 1}}) == [0, 1]
    assert ids(some, {"a": {"$nin": [1, 2]}}) == [0, 1]
    assert ids(some, {"a": None}) == [0, 1]
    assert ids(some, {"a": {"$exists": True}}) == [1, 2]
    assert ids(some, {"a": {"$lt": 5}}) == [2]


def test_values_compare_only_with_their_own_type() -> None:
    some: list[dict[str, Any]] = [{"a": 1}, {"a": "1"}, {"a": True}, {"a": [1]}]
    assert ids(some, {"a": 1}) == [0]
    assert ids(some, {"a": "1"}) == [1]
    assert ids(some, {"a": True}) == [2]
    assert ids(some, {"a": {"$gt": 0}}) == [0]
    assert ids(some, {"a": {"$contains": 1}}) == [3]


def test_times_take_iso_texts_or_seconds() -> None:
    db = house([{}])
    assert found(db, {"createdAt": {"$lt": "1970-01-02"}}) == [0]
    assert found(db, {"createdAt": {"$between": ["1969-12-31T23:00:00Z", 1]}}) == [0]
    with pytest.raises(BadParams, match="takes a time"):
        found(db, {"createdAt": {"$lt": "soon"}})


def test_names_with_quotes_are_data_and_not_sql() -> None:
    assert ids([{"a'b": 1}], {"a'b": 1}) == [0]
    for name in ['a"b', "a\\b", "a..b", "", "a\nb", ".a", "x" * 600]:
        with pytest.raises(BadParams):
            ids([{}], {name: 1})


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"a": {"$gte ": 1}}, r"Unknown operator '\$gte ' on 'a'; valid: \$eq, \$ne"),
        ({"$gt": 1}, r"Unknown operator '\$gt'; use a field name or one of \$and, \$or, \$not, \$nor here"),
        ({"a": {"city": 1}}, "write 'a.city'"),
        ({"a": {}}, "is empty"),
        ({"a": [1]}, r"given \[1\]"),
        ({"a": {"$gt": None}}, "a number or a string; given null"),
        ({"a": {"$gt": True}}, "a number or a string; given true"),
        ({"a": {"$in": "x"}}, f"at most {MAX_LIST} values; given str"),
        ({"a": {"$in": [1] * (MAX_LIST + 1)}}, "given list of 1001"),
        ({"a": {"$between": [1]}}, r"\[lowest, highest\]"),
        ({"a": {"$between": [1, "b"]}}, "two numbers or two strings"),
        ({"a": {"$exists": 1}}, "true or false; given 1"),
        ({"a": {"$regex": "("}}, "not a valid RE2 pattern"),
        ({"a": {"$regex": "(a)\\1"}}, "not a valid RE2 pattern"),
        ({"a": {"$like": 5}}, "takes a string"),
        ({"a": {"$contains": "x" * 1_001}}, "at most 1000 characters"),
        ({"$and": []}, "at least one filter"),
        ({"$or": {"a": 1}}, "takes a list"),
        ({"$and": [5]}, "A filter must be an object"),
        ({"a": 2**64}, "at most 64 bits"),
        ({"a": float("nan")}, "finite"),
        ({"a": "\ud800"}, "surrogate"),
        ({"a": "\x00"}, "NUL"),
    ],
)
def test_a_wrong_filter_is_refused_with_a_sentence(where: dict[str, Any], says: str) -> None:
    with pytest.raises(BadParams, match=says):
        ids([{}], where)


def test_filters_have_bounds() -> None:
    ids([{}], {"$or": [{"a": n} for n in range(MAX_CONDITIONS - 1)]})
    with pytest.raises(BadParams, match="more than 200 conditions"):
        ids([{}], {"$or": [{"a": n} for n in range(MAX_CONDITIONS)]})
    nested: dict[str, Any] = {"a": 1}
    for _ in range(MAX_DEPTH - 1):
        nested = {"$not": nested}
    ids([{}], nested)
    with pytest.raises(BadParams, match="deeper than 20"):
        ids([{}], {"$not": nested})
    condition: Any = 1
    for _ in range(MAX_DEPTH + 1):
        condition = {"$not": condition}
    with pytest.raises(BadParams, match="deeper than 20"):
        ids([{}], {"a": condition})


def test_the_largest_allowed_filter_still_runs() -> None:
    lists: list[dict[str, Any]] = [{"a": {"$in": list(range(MAX_LIST))}} for _ in range(MAX_VALUES // MAX_LIST)]
    assert ids([{"a": 5}, {"a": -1}], {"$or": lists + [{"b": n} for n in range(150)]}) == [0]
    with pytest.raises(BadParams, match="more than 5000 values"):
        ids([{}], {"$or": [*lists, {"a": {"$in": [1]}}]})


def test_a_pattern_that_would_backtrack_is_answered_at_once() -> None:
    assert ids([{"a": "a" * 5_000}], {"a": {"$regex": "^(a+)+$"}}) == [0]


def test_known_fields_are_named_when_one_is_unknown() -> None:
    db = house([])
    with pytest.raises(BadParams, match="rooms has no field 'nam'; it has: id, name, recipe"):
        collection_queries.page(db, SYSTEM["rooms"], SCOPE, where={"nam": "x"})
    with pytest.raises(BadParams, match="rooms has no field"):
        collection_queries.page(db, SYSTEM["rooms"], SCOPE, where={'id" OR 1=1 --': "x"})


def test_every_operator_is_covered_by_the_model() -> None:
    value: dict[str, Any] = {"$in": [], "$nin": [], "$between": [1, 2], "$exists": True, "$null": True}
    for operator in OPERATORS:
        holds("a", operator, value.get(operator, "a"))
