"""The schemas of tools: every client and every model API takes them, and the gate checks no less than before."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from mcp_house import McpHouse, write_recipe
from mcp_web import Web
from upstream_door import open_door, server

from doorward.agents.keeper.tools import TOOLS
from doorward.agents.tool_descriptions import describe_tool
from doorward.config.settings import McpSettings, Settings
from doorward.doors.line.tools import LineTools
from doorward.doors.mcp.tools import RUN_TOOL

COMBINING = {"anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref", "$dynamicRef"}
EVERYTHING = {
    "recipeId": "everything",
    "displayName": "Everything",
    "strategy": {"aiCommands": {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 1_000}},
}


@pytest.fixture(scope="module")
async def house(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[McpHouse]:
    settings = Settings(mcp=McpSettings(tools="all", page=2_000))
    async with open_door(tmp_path_factory.mktemp("schemas"), server("notes"), changes=settings) as house:
        write_recipe(house.home, EVERYTHING)
        await house.services.recipes.load()
        yield house


@pytest.fixture(scope="module")
async def web(house: McpHouse) -> Web:
    await house.owner("room/create", name="everything", recipe="everything")
    return await house.web(kind="service", room="everything")


async def listed(web: Web) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in (await web.ask("tools/list")).result["tools"]}


def refusals(name: str, schema: Mapping[str, Any]) -> list[str]:
    """Why a strict client or a model API does not take a tool."""
    properties = schema.get("properties")
    found = [f"{key} at the top" for key in COMBINING & set(schema)]
    if schema.get("type") != "object" or not isinstance(properties, dict):
        return [*found, "not an object with properties"]
    found += [f"property {key!r}" for key in properties if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key)]
    found += [f"required {key!r}" for key in schema.get("required", ()) if key not in properties]
    return found if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) else [*found, "the name"]


async def test_strict_clients_take_every_tool_of_every_recipe(house: McpHouse, web: Web):
    tools = await listed(web)
    for recipe in house.services.recipes.recipes():
        room = f"of-{recipe.recipe_id}"
        await house.owner("room/create", name=room, recipe=recipe.recipe_id)
        tools |= await listed(await house.web(kind="service", room=room))
    registry = house.services.registry
    assert {"shell_grep", "shell_git_commit", "notes_either", "notes_kinds", "resume_approved"} <= set(tools)
    schemas = {name: tool["inputSchema"] for name, tool in tools.items()} | {RUN_TOOL.name: RUN_TOOL.input_schema}
    assert {name: why for name, schema in schemas.items() if (why := refusals(name, schema))} == {}
    results = {name: tool["outputSchema"] for name, tool in tools.items() if "outputSchema" in tool}
    assert [name for name, schema in results.items() if schema["type"] != "object" or COMBINING & set(schema)] == []
    models = [*TOOLS, *(describe_tool(command, None) for command in registry)]
    assert {tool.name: why for tool in models if (why := refusals(tool.name, tool.schema))} == {}
    line = LineTools(registry)
    described = [line._describe(command) for command in registry]
    assert {one["name"]: why for one in described if (why := refusals(one["name"], one["inputSchema"]))} == {}


async def test_a_tool_says_the_conditions_that_its_schema_cannot(web: Web):
    tools = await listed(web)
    either, kinds = tools["notes_either"], tools["notes_kinds"]
    assert either["inputSchema"]["properties"] == {"id": {"type": "string"}, "name": {"type": "string"}}
    assert (
        '(The parameters must also match this JSON Schema: {"properties":{"$filter":{"type":"string"}},"required":[],'
        '"anyOf":[{"required":["id"]},{"required":["name"]}]})' in either["description"]
    )
    assert kinds["inputSchema"]["properties"] == {
        "unsaid": {},
        "kind": {"anyOf": [{"const": "a"}, {"const": "b"}]},
        "size": {"type": "integer"},
        "color": {"type": "string"},
        "shade": {"type": "string"},
    }
    assert kinds["inputSchema"]["required"] == ["unsaid", "kind"]
    assert tools["shell_grep"]["inputSchema"]["properties"]["arguments"]["description"].endswith(
        ". Without it, pattern is required"
    )


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("notes_either", {}),
        ("notes_either", {"id": "x", "more": 1}),
        ("notes_either", {"$filter": "x"}),
        ("notes_kinds", {"unsaid": 1, "kind": "a"}),
        ("notes_kinds", {"unsaid": 1, "kind": "c"}),
        ("notes_kinds", {"kind": "b"}),
        ("notes_kinds", {"unsaid": 1, "kind": "b", "nothing": 1}),
        ("shell_grep", {}),
        ("shell_grep", {"paths": ["x"]}),
        ("shell_grep", {"arguments": []}),
        ("shell_grep", {"arguments": ["x"], "pattern": "x"}),
    ],
)
async def test_the_gate_refuses_what_the_full_schema_refuses(web: Web, tool: str, given: dict[str, Any]):
    assert (await web.call(tool, **given)).result["_meta"]["doorward/code"] == "bad_params"


async def test_a_parameter_whose_name_clients_refuse_reaches_the_server(web: Web):
    done = await web.call("notes_either", id="x", **{"$filter": "y"})
    assert done.result["content"][0]["text"] == '{"id": "x", "$filter": "y"}'
