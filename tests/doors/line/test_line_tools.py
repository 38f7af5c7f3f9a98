"""Tools as line clients see them, and the spellings they may use (R1.3, R8.2)."""

from __future__ import annotations

import pytest

from doorward.commands import programs
from doorward.commands.catalogue.parser import parse_catalogue
from doorward.commands.catalogue.watched_catalogue import shipped_catalogue
from doorward.commands.families import ALIASES, FAMILIES
from doorward.config.settings import Settings
from doorward.core.model import Credential
from doorward.core.registry import Registry
from doorward.doors.line import tools

REGISTRY = Registry(list(FAMILIES), ALIASES)
REGISTRY.replace(
    "catalogue", *programs.build_commands(parse_catalogue(shipped_catalogue(), "commands.json"), Settings())
)


async def test_tools_are_exactly_what_the_room_offers_with_hints_for_agents(line):
    async with line() as house:
        wire = await house.wire()
        listed = (await wire.asked(1, "list_tools"))["result"]["tools"]
        gate = house.house.gate
        caller = gate.caller(Credential(owner=True, speak_as="line", kind="service"))
        offered = [command for command in gate.offered(caller, "lab") if not command.unlisted]
    by_name = {one["name"]: one for one in listed}
    assert len(by_name) == len(listed) == len(offered)
    assert {one["metadata"]["command"] for one in listed} == {command.name for command in offered}
    assert {"ls", "cd", "data_list", "bash", "stage_quick"} <= set(by_name)
    assert all(one["inputSchema"]["type"] == "object" and one["description"] for one in listed)
    remove = by_name["rm"]
    assert remove["metadata"] == {
        "command": "shell/rm",
        "safety": "dangerous",
        "examples": ["remove the old drafts"],
        "related_tools": remove["metadata"]["related_tools"],
        "category": "files",
        "popular": True,
        "effects": ["read", "write", "destroy"],
    }
    related = {name for one in listed for name in one["metadata"]["related_tools"]}
    assert related
    assert not [name for name in related if "/" in name]
    assert "approval_approve" not in by_name


async def test_a_changed_recipe_changes_the_list_at_once(line):
    async with line() as house:
        wire = await house.wire()
        before = (await wire.asked(1, "list_tools"))["result"]["tools"]
        recipe = (
            '{"recipeId":"stage","displayName":"S","strategy":{"aiCommands":{"enabled":true,"whitelist":["stage/*"]}}}'
        )
        await house.driver.owner("recipe/put", id="stage", text=recipe)
        after = (await wire.asked(2, "list_tools"))["result"]["tools"]
        called = await wire.called(3, "room_list")
    assert len(before) > 50
    assert sorted(one["name"] for one in after) == [
        "stage_fail",
        "stage_hold",
        "stage_large",
        "stage_login",
        "stage_quick",
    ]
    assert called["error"]["code"] == "not_permitted"


@pytest.mark.parametrize(
    ("command", "given", "meant"),
    [
        ("shell/context", {"include_history": True}, {"includeHistory": True}),
        ("shell/context", {"includeHistory": True}, {"includeHistory": True}),
        ("shell/context", {"include_history": 1, "includeHistory": 2}, {"include_history": 1, "includeHistory": 2}),
        ("execution/status", {"execution_id": "3"}, {"execution": "3"}),
        ("help/search", {"query": "a", "limit": 5}, {"query": "a", "limit": 5}),
        ("help/search", {"qury": "a"}, {"qury": "a"}),
        ("data/list", {"collection": "rooms", "fields": "name"}, {"collection": "rooms", "fields": "name"}),
    ],
)
def test_arguments_in_snake_case_are_meant_for_parameters_in_camel_case(command, given, meant):
    assert tools.translate_arguments(REGISTRY[command], given) == meant


def test_one_value_stands_for_a_list_of_one_and_a_path_for_paths():
    find = REGISTRY["shell/find"]
    assert tools.translate_arguments(REGISTRY["shell/echo"], {"text": "hello"}) == {"text": ["hello"]}
    assert tools.translate_arguments(REGISTRY["shell/ls"], {"path": "."}) == {"paths": ["."]}
    assert tools.translate_arguments(REGISTRY["shell/ls"], {"paths": ["a", "b"]}) == {"paths": ["a", "b"]}
    assert tools.translate_arguments(REGISTRY["shell/cat"], {"path": "a"}) == {"files": ["a"]}
    assert tools.translate_arguments(REGISTRY["shell/cat"], {"file": "a"}) == {"files": ["a"]}
    assert tools.translate_arguments(REGISTRY["file/read"], {"file": "a"}) == {"path": "a"}
    assert tools.translate_arguments(find, {"path": "/usr", "name": "*.txt"}) == {"paths": ["/usr"], "name": "*.txt"}
    assert tools.translate_arguments(find, {"path": "*/src/*"}) == {"path": "*/src/*"}
    assert tools.translate_arguments(find, {"path": "a", "paths": ["b"]}) == {"path": "a", "paths": ["b"]}
