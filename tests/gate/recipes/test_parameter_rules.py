"""Parameter rules narrow a command to safe arguments (R2.4)."""

from __future__ import annotations

from typing import Any

import pytest
from recipe_samples import command, policy

LIST = command("data/list")


def allows(rule: dict[str, Any], value: Any) -> bool:
    return policy(parameterRules={"data/list": {"p": rule}}).check_params(LIST, {"p": value}).allowed


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ({"enum": ["rooms", 1]}, ["rooms", 1], ["users", 2, "Rooms", None, ["rooms"], True]),
        ({"const": {"a": [1]}}, [{"a": [1]}], [{"a": [2]}, {}, "a"]),
        ({"pattern": "^git (status|log)$"}, ["git log"], ["git log\n", "x git log", "git push", 5, ["git log"], None]),
        ({"maxLength": 3}, ["abc", ""], ["abcd", [], 7, {}]),
        ({"minLength": 1}, ["a"], ["", 1]),
        ({"minimum": 1, "maximum": 3}, [1, 2.5, 3], [0, 4, "2", [2], None, True]),
        ({"exclusiveMinimum": 1, "exclusiveMaximum": 3}, [2], [1, 3]),
        ({"multipleOf": 5}, [0, 10], [3, "10"]),
        ({"items": {"pattern": "^[a-z]+$"}}, [["a", "b"], []], [["a", "B"], ["a", 1], "a", {"0": "a"}]),
        ({"items": {"enum": ["a"]}, "minItems": 1, "maxItems": 2, "uniqueItems": True}, [["a"]], [[], ["a", "a"]]),
        ({"type": "boolean"}, [True, False], [0, "true", None]),
        ({"type": ["string", "null"], "pattern": "^a"}, ["ab", None], ["b", 1, []]),
        ({"type": "integer", "maximum": 5}, [5], [4.5, 6]),
        ({"glob": "src/**"}, ["src/a", "./src/a"], ["src/../a", "a", "/src/a", 5, None, {"path": "src/a"}]),
        ({"glob": ["src/**", "*.md"]}, ["src/a", "a.md", ["src/a", "a.md"], []], ["b/a.md", ["a.md", "x"], [["a.md"]]]),
        ({"pattern": "^a", "items": {"pattern": "^a"}}, ["ab", ["ab"]], ["b", ["b"], ["ab", 1], 5]),
        ({"description": "given is enough"}, [1, None, "x"], []),
    ],
)
def test_a_rule_judges_values(rule: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert allows(rule, value), value
    for value in bad:
        assert not allows(rule, value), value


def test_a_parameter_with_a_rule_must_be_given() -> None:
    ruling = policy(parameterRules={"data/list": {"limit": {"maximum": 50}}}).check_params(LIST, {"other": 1})
    assert not ruling.allowed
    assert "'limit' is required" in ruling.reason
    assert '{"maximum": 50}' in ruling.reason


def test_a_refusal_names_parameter_rule_and_value() -> None:
    rules = {"data/*": {"collection": {"enum": ["rooms"]}}}
    ruling = policy("my-room", parameterRules=rules).check_params(LIST, {"collection": "users"})
    assert not ruling.allowed
    assert ruling.rule == 'recipe my-room: parameter rule "data/*" on collection'
    assert ruling.reason == (
        "data/list: parameter 'collection' does not fit this room's recipe;"
        ' valid: a value that fits {"enum": ["rooms"]}; given \'users\'.'
    )


def test_a_refusal_is_never_long() -> None:
    rules = {"*": {"a": {"enum": ["x" * 1000]}}}
    ruling = policy(parameterRules=rules).check_params(LIST, {"a": "y" * 100_000})
    assert len(ruling.reason) < 600


@pytest.mark.parametrize(
    ("parameter", "value"), [("key", "hunter2"), ("password", "hunter2"), ("note", "Bearer hunter2hunter2")]
)
def test_a_refusal_shows_no_secret(parameter: str, value: str) -> None:
    rules = {"*": {parameter: {"const": 1}}}
    login = command("user/login", secret=frozenset({"key"}))
    ruling = policy(parameterRules=rules).check_params(login, {parameter: value})
    assert not ruling.allowed
    assert "hunter2" not in ruling.reason


def test_the_rules_of_every_matching_pattern_apply() -> None:
    narrowed = policy(
        parameterRules={
            "*": {"limit": {"maximum": 100}},
            "data/*": {"collection": {"enum": ["rooms", "users"]}},
            "data/list": {"collection": {"enum": ["rooms", "jobs"]}},
            "file/*": {"path": {"glob": "src/**"}},
        }
    )
    assert narrowed.check_params(LIST, {"limit": 1, "collection": "rooms"}).allowed
    assert not narrowed.check_params(LIST, {"limit": 1, "collection": "users"}).allowed
    assert not narrowed.check_params(LIST, {"limit": 1, "collection": "jobs"}).allowed
    assert not narrowed.check_params(LIST, {"limit": 101, "collection": "rooms"}).allowed
    assert not narrowed.check_params(LIST, {"collection": "rooms"}).allowed


def test_without_a_rule_every_parameter_passes() -> None:
    ruling = policy("free", parameterRules={"bash": {"a": {"const": 1}}}).check_params(LIST, {"a": 2})
    assert ruling.allowed
    assert ruling.rule == "recipe free: parameter rules"


def test_an_evil_expression_judges_a_long_text_at_once() -> None:
    assert not allows({"pattern": "^(a+)+$"}, "a" * 100_000 + "b")
