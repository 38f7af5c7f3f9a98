"""Schemas of others: how often a validator would look at one value is known before one is made."""

from __future__ import annotations

import pytest

from doorward.upstream import schema_cost

LEAF = {"type": "string"}


def doubling(word: str, deep: int, wrap=lambda part: part):
    """Parts that each apply the one before them twice."""
    parts = {"p0": LEAF}
    for n in range(1, deep + 1):
        parts[f"p{n}"] = wrap({word: [{"$ref": f"#/$defs/p{n - 1}"}] * 2})
    return {"type": "object", "$defs": parts, "properties": {"x": {"$ref": f"#/$defs/p{deep}"}}}


def recursive(*branches):
    return {"$defs": {"one": {"anyOf": list(branches)}}, "properties": {"x": {"$ref": "#/$defs/one"}}}


ONE = {"$ref": "#/$defs/one"}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": LEAF}},
        {"properties": {f"p{n}": {"anyOf": [LEAF, {"type": "null"}]} for n in range(700)}},
        doubling("anyOf", 5),
        {"properties": {"a": {"$ref": "#"}}},
        {"$defs": {"a": {"$anchor": "it", **LEAF}}, "properties": {"a": {"$ref": "#it"}}},
        {"$defs": {"a/b": LEAF}, "properties": {"a": {"$ref": "#/$defs/a~1b"}, "b": {"$ref": "#/$defs/a%7E1b"}}},
        recursive({"items": ONE}, {"additionalProperties": ONE}, LEAF),
        recursive({"properties": {"left": ONE, "right": ONE}}, {"properties": {"not": ONE}}, LEAF),
        {"properties": {"a": {"$ref": "https://example.org/elsewhere"}}},
    ],
)
def test_what_looks_at_each_value_a_few_times_may_be_used_with_any(schema):
    assert schema_cost.find_depth_limit(schema) is None


@pytest.mark.parametrize(
    "schema",
    [
        *(doubling(word, 20) for word in ("allOf", "anyOf", "oneOf")),
        doubling("allOf", 20, lambda part: {"not": part}),
        doubling("allOf", 20, lambda part: {"if": part, "then": True}),
        {"allOf": [{"$ref": "#"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}},
        {"$defs": {"a": {"$id": "urn:a", **LEAF}}, "properties": {"a": {"$ref": "urn:a"}}},
        {"$id": "urn:a", "$defs": {"a": LEAF}, "properties": {"a": {"$ref": "urn:a#/$defs/a"}}},
        {"$ref": "#/$defs/p0", "$defs": {f"p{n}": {"$ref": f"#/$defs/p{n + 1}"} for n in range(3_000)}},
    ],
)
def test_what_takes_for_ever_or_cannot_be_told_is_not_used(schema):
    with pytest.raises(schema_cost.SchemaTooCostly):
        schema_cost.find_depth_limit(schema)


@pytest.mark.parametrize("branch", [{"items": ONE}, {"properties": {"inner": ONE}}, {"additionalProperties": ONE}])
def test_what_doubles_with_each_level_is_good_for_values_of_few_levels(branch):
    levels = schema_cost.find_depth_limit(recursive(branch, {**branch, "title": "again"}))
    assert levels is not None
    assert 8 <= levels <= 12


def test_levels_are_counted_from_the_value_down():
    assert [schema_cost.measure_nesting(value) for value in (1, {}, [1], {"a": [{"b": 1}], "c": 2})] == [0, 0, 1, 3]
