"""A declaration is complete or does not import (R1.1)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import jsonschema_rs
import pytest
from msgspec import Meta

from doorward.commands.context import Listing
from doorward.commands.families import FAMILIES
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo, Undo, describe_fault, to_object
from doorward.core.errors import BadParams, UnknownCommand
from doorward.core.registry import Registry
from doorward.core.signatures import result_schema
from doorward.core.validation import validator

FACTS: dict[str, Any] = {
    "tier": Tier.INFORMATION,
    "effects": Effects.READ,
    "access": Access.READ,
    "safety": Safety.SAFE,
    "cost": 1,
    "timeout": 5,
    "undo": READS_ONLY,
    "examples": [Example("look", {"text": "x"})],
}


def declare(verb: str = "look", area: str = "try", **changes: Any) -> Family:
    family = Family(area, category="test")

    @family.command(verb, **{**FACTS, **changes})
    async def look(
        ctx: Any,
        text: Annotated[str, Meta(description="A text", max_length=10)],
        how_many: Annotated[int, Meta(description="A number", ge=1, le=9)] = 3,
        mood: Annotated[Literal["good", "bad"] | None, Meta(description="A mood")] = None,
    ) -> str:
        """Look at a text.

        At length.
        """
        return f"{text} {how_many} {mood}"

    return family


@pytest.mark.parametrize("fact", ["tier", "effects", "access", "safety", "cost", "timeout", "undo", "examples"])
def test_a_missing_safety_fact_breaks_at_import(fact):
    facts = {name: value for name, value in FACTS.items() if name != fact}
    with pytest.raises(TypeError, match=fact):
        Family("try", category="test").command("look", **facts)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"effects": Effects.WRITE}, "only read"),
        ({"tier": Tier.CODE, "effects": Effects.WRITE}, "needs its own reason"),
        ({"undo": Undo("file")}, "declares an undo but no change"),
        ({"examples": []}, "no example"),
        ({"examples": [Example("wrong", {"text": 1})]}, "does not fit"),
        ({"cost": -1}, "cost"),
        ({"timeout": 0}, "timeout"),
        ({"effects": Effects(0)}, "no effect"),
    ],
)
def test_facts_that_contradict_each_other_break_at_import(changes, complaint):
    with pytest.raises(TypeError, match=complaint):
        declare(**changes)


def test_a_function_without_words_breaks_at_import():
    family = Family("try", category="test")
    with pytest.raises(TypeError, match="no docstring"):

        @family.command("look", **FACTS)
        async def look(ctx: Any, text: Annotated[str, Meta(description="A text")]) -> None: ...

    with pytest.raises(TypeError, match="text has no description"):

        @family.command("gaze", **FACTS)
        async def gaze(ctx: Any, text: str) -> None:
            """Gaze."""


def test_the_signature_becomes_the_schema():
    (command,) = declare().commands
    assert command.schema["additionalProperties"] is False
    assert command.schema["required"] == ["text"]
    assert command.schema["properties"]["howMany"] == {
        "type": "integer",
        "description": "A number",
        "minimum": 1,
        "maximum": 9,
        "default": 3,
    }
    assert (command.summary, command.usage) == (
        "Look at a text.",
        "--text=<string> [--howMany=<integer>] [--mood=<bad|good>]",
    )


async def test_parameters_reach_the_function_under_its_own_names():
    (command,) = declare().commands
    assert await command(None, {"text": "x", "howMany": 4, "mood": "bad"}) == "x 4 bad"


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({}, "Missing parameter 'text'. try/look takes text, howMany, mood."),
        ({"text": "x", "howmany": 3}, "Unknown parameter 'howmany'. try/look takes text, howMany, mood."),
        ({"text": "x", "a": 1, "b": 2}, "Unknown parameters 'a', 'b'. try/look takes text, howMany, mood."),
        ({"text": "x" * 11}, "try/look: parameter text must have at most 10 characters; given 'xxxxxxxxxxx'."),
        ({"text": "x", "howMany": 10}, "try/look: parameter howMany must be at most 9; given 10."),
        ({"text": "x", "howMany": "3"}, "try/look: parameter howMany must be an integer; given '3'."),
        ({"text": "x", "howMany": True}, "try/look: parameter howMany must be an integer; given true."),
        ({"text": "x", "mood": "ugly"}, "try/look: parameter mood must be one of bad, good; given 'ugly'."),
    ],
)
def test_a_fault_names_the_parameter_what_is_valid_and_what_was_given(params, sentence):
    (command,) = declare().commands
    with pytest.raises(BadParams) as caught:
        command.check(params)
    assert caught.value.message == sentence


_FILTER = {"type": "object", "properties": {"from": {}, "to": {}}, "required": ["to"], "additionalProperties": False}
_NUMBER = {"type": "integer", "minimum": 1}


@pytest.mark.parametrize(
    ("properties", "given", "sentence"),
    [
        ({}, {"x": 1}, "Unknown parameter 'x'. try/look takes no parameters."),
        ({"filter": _FILTER}, {"filter": {"to": 1, "x": 1}}, "Unknown parameter 'x' in filter. filter takes from, to."),
        ({"filter": _FILTER}, {"filter": {}}, "Missing parameter 'to' in filter. filter takes from, to."),
        ({"n": {"anyOf": [_NUMBER, {"type": "null"}]}}, {"n": 0}, "try/look: parameter n must be at least 1; given 0."),
        (
            {"n": {"anyOf": [_NUMBER, {"type": "string"}, {"type": "null"}]}},
            {"n": []},
            "try/look: parameter n must be an integer or a string; given [].",
        ),
        (
            {"n": {"type": "array", "items": {"type": "string", "minLength": 1}}},
            {"n": [""]},
            "try/look: parameter n.0 must have at least 1 character; given ''.",
        ),
        (
            {"n": {"not": {"const": 1}}},
            {"n": 1},
            """try/look: parameter n is not valid: {"const":1} is not allowed for it; given 1.""",
        ),
    ],
)
def test_a_fault_inside_a_value_says_where_it_is(properties, given, sentence):
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    fault = next(validator(schema).iter_errors(given))
    assert describe_fault(fault, schema, "try/look") == sentence


def test_two_commands_of_one_name_or_one_wire_name_are_refused():
    with pytest.raises(TypeError, match="two commands named"):
        Registry([declare(), declare()])
    with pytest.raises(TypeError, match="share the wire name"):
        Registry([declare("look", "a"), declare("a_look", "")])


def test_an_undo_that_nobody_can_do_is_refused():
    family = declare(tier=Tier.CODE, effects=Effects.WRITE, undo=Undo("nothing-knows-this"))
    with pytest.raises(TypeError, match="no undoer"):
        Registry([family])


def test_a_related_command_must_exist():
    with pytest.raises(TypeError, match="no/such"):
        Registry([declare(related=["no/such"])])


def test_an_ambiguous_spelling_is_refused():
    registry = Registry([declare("look-at", "a"), declare("at", "a-look"), declare("x", "b")])
    with pytest.raises(UnknownCommand):
        registry.resolve("A__Look.AT")


def test_every_built_in_command_declares_a_tier_and_only_information_is_free_of_change():
    registry = Registry(FAMILIES)
    assert len(registry) > 40
    for command in registry:
        assert command.reads_only or command.facts.tier is not Tier.INFORMATION


_AREAS_OF_ACCESS = {
    *("approval", "conversation", "effort", "mcp", "model", "persona", "recipe", "room", "system", "token", "user"),
}
_CANNOT_WIDEN = {
    "approval/hold",
    "approval/deny",
    "conversation/end",
    "conversation/priority",
    "effort/cancel",
    "effort/pause",
    "effort/request",
    "effort/resume",
    "mcp/answer",
    "mcp/call",
    "mcp/disable",
    "mcp/logout",
    "mcp/restart",
    "mcp/test",
    "model/test",
    "persona/stop",
    "room/archive",
    "room/attach",
    "room/change",
    "room/delete",
    "room/edit",
    "room/leave",
    "room/mark",
    "room/say",
    "system/shutdown",
    "token/revoke",
    "user/logout",
}
"""Changes there that only narrow access, or that concern messages, titles and running work."""


def test_every_command_that_can_widen_what_somebody_may_do_declares_it():
    registry = Registry(FAMILIES)
    changes = {one.name for one in registry if not one.reads_only and one.name.split("/")[0] in _AREAS_OF_ACCESS}
    assert changes >= _CANNOT_WIDEN
    assert changes - _CANNOT_WIDEN == {one.name for one in registry if one.facts.widens_access}


def test_what_an_ai_may_propose_always_waits_for_a_person():
    proposable = {one.name for one in Registry(FAMILIES) if one.facts.proposable}
    assert proposable == {"mcp/install", "mcp/remove", "mcp/enable", "mcp/disable"}
    assert all(one.asks_first and not one.facts.humans_only for one in Registry(FAMILIES) if one.facts.proposable)


def test_every_change_can_be_undone_or_says_why_not():
    for command in Registry(FAMILIES):
        undo = command.facts.undo
        assert isinstance(undo, Undo) or (isinstance(undo, NoUndo) and undo.why)


def test_what_concerns_the_whole_house_is_only_for_the_tenant_that_owns_it():
    server_wide = {command.name for command in Registry(FAMILIES) if command.facts.server_wide}
    assert server_wide == {
        *("recipe/put", "recipe/remove", "persona/put", "persona/remove", "system/shutdown"),
        *("debug/logs", "audit/verify", "user/invite", "effort/budget"),
        *("model/list", "model/find", "model/test", "model/use", "model/add"),
        *(command.name for command in Registry(FAMILIES) if command.name.startswith("mcp/")),
    }


class Item(TypedDict):
    """One thing."""

    name: Annotated[str, Meta(description="What it is called")]
    size: NotRequired[int]


class Things(TypedDict):
    items: list[Item]
    more: bool


def returning(kind: Any) -> dict[str, Any] | None:
    async def look(ctx: Any) -> Any: ...

    look.__annotations__["return"] = kind
    return result_schema(look)


def test_the_return_annotation_becomes_the_schema_of_the_result():
    assert returning(Things) == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/Item"}}, "more": {"type": "boolean"}},
        "required": ["items", "more"],
        "$defs": {
            "Item": {
                "description": "One thing.",
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "What it is called"},
                    "size": {"type": "integer"},
                },
                "required": ["name"],
            }
        },
    }


@pytest.mark.parametrize(
    ("kind", "result", "other"),
    [
        (str, "one", 1),
        (list[int], [1, 2], ["one"]),
        (int | None, None, "one"),
        (Literal["good", "bad"], "good", "ugly"),
        (list[Item], [{"name": "one"}], [{"size": 1}]),
        (Listing[Item], {"items": [{"name": "one"}]}, {"items": [1]}),
        (dict[str, int], {"one": 1}, {"one": "two"}),
        (None, None, 1),
    ],
)
def test_the_schema_is_of_the_object_that_doors_give(kind, result, other):
    schema = returning(kind)
    assert schema is not None
    assert schema["type"] == "object"
    assert jsonschema_rs.is_valid(schema, to_object(result))
    assert not jsonschema_rs.is_valid(schema, to_object(other))


@pytest.mark.parametrize("kind", [Any, dict[str, Any] | str, Item | None])
def test_a_type_that_may_be_an_object_or_not_says_nothing(kind):
    assert returning(kind) is None


def test_a_function_that_does_not_say_what_it_gives_can_be_a_command():
    family = Family("try", category="test")

    @family.command("look", **FACTS)
    async def look(ctx: Any, text: Annotated[str, Meta(description="A text")]):
        """Look."""

    assert look.returns is None


def test_a_command_carries_what_it_gives():
    (command,) = declare().commands
    assert command.returns is not None
    assert command.returns["properties"] == {"result": {"type": "string"}}
