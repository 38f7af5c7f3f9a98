"""tools/list: exactly what the room offers, whole or in pages, or a few and the search for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mcp_house import RECIPE, McpHouse, write_recipe
from mcp_web import Web

from doorward.config.settings import McpSettings, Settings
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Command, Example, Facts
from doorward.core.model import Credential


async def listed(web: Web) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in (await web.ask("tools/list")).result["tools"]}


async def test_the_list_is_what_the_gate_offers_and_the_way_to_resume(house: McpHouse, web: Web):
    caller = house.gate.caller(Credential(token=web.token))
    offered = {command.wire for command in house.gate.offered(caller, "workshop") if not command.unlisted}
    assert set(await listed(web)) == offered | {"resume_approved"}


async def test_a_tool_is_described_by_its_command(web: Web):
    tools = await listed(web)
    echo = tools["probe_echo"]
    assert echo["title"] == "probe/echo"
    assert echo["description"] == "Give a text back."
    assert echo["inputSchema"]["required"] == ["text"]
    assert echo["inputSchema"]["additionalProperties"] is False
    assert echo["outputSchema"]["type"] == "object"
    assert tools["probe_number"]["outputSchema"]["required"] == ["result"]
    assert tools["file_write"]["description"].endswith("every call waits for a person's approval before it runs.")


@pytest.mark.parametrize(
    ("name", "hints"),
    [
        ("probe_echo", (True, False, True, False)),
        ("probe_write", (False, False, False, False)),
        ("probe_wreck", (False, True, False, True)),
    ],
)
async def test_hints_are_the_effects_that_a_command_declares(web: Web, name: str, hints: tuple[bool, ...]):
    found = (await listed(web))[name]["annotations"]
    words = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    assert tuple(found[word] for word in words) == hints


async def test_a_list_in_pages_is_the_same_list(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(page=4))) as house:
        web = await house.web()
        found, cursor, pages = [], None, 0
        while True:
            result = (await web.ask("tools/list", {"cursor": cursor} if cursor else {})).result
            assert len(result["tools"]) <= 4
            found += [tool["name"] for tool in result["tools"]]
            pages += 1
            cursor = result.get("nextCursor")
            if cursor is None:
                break
        assert found == sorted(set(found))
        assert pages == -(-len(found) // 4)
        assert "resume_approved" in found
        for bad in ("x", "AAAA", cursor or "", 5, "dG9vbHM6", "cHJvbXB0czphYmM=", "é", ["a"], "x" * 10_000):
            answer = await web.ask("tools/list", {"cursor": bad})
            assert (answer.status, answer.error["code"]) == (400, -32602), bad


async def test_a_short_list_leads_to_everything_that_is_offered(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(tools="search"))) as house:
        web = await house.web()
        tools = await listed(web)
        own = {"search_commands", "describe_command", "run_command", "resume_approved"}
        assert set(tools) == own | {"data_list", "file_list", "file_read", "file_write", "room_say"}
        found = (await web.call("search_commands", query="echo hello")).result["structuredContent"]["items"]
        assert found[0]["command"] == "probe/echo"
        told = (await web.call("describe_command", command="probe/echo")).result["structuredContent"]
        assert told["schema"]["required"] == ["text"]
        ran = await web.call("run_command", command="probe/echo", params={"text": "found"})
        assert ran.result["structuredContent"] == {"text": "found"}
        assert (await web.call("probe_echo", text="x")).result["structuredContent"] == {"text": "x"}
        refused = await web.call("run_command", command="file/delete", params={"path": "x"})
        assert refused.result["_meta"]["doorward/code"] == "not_permitted"
        for arguments in (
            {},
            {"command": 5},
            {"command": "probe/echo", "params": []},
            {"command": "x", "dryRun": True},
        ):
            answer = await web.call("run_command", **arguments)
            assert (answer.status, answer.error["code"]) == (400, -32602), arguments
        assert "search_commands" in (await web.ask("server/discover")).result["instructions"]


async def test_a_list_is_shortened_by_itself_when_it_grows_long(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(search_above=3))) as house:
        assert "search_commands" in await listed(await house.web())


async def test_without_the_search_the_list_is_not_shortened(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(tools="search"))) as house:
        commands = {**RECIPE["strategy"]["aiCommands"], "blacklist": ["help/*"]}
        write_recipe(house.home, {**RECIPE, "strategy": {"aiCommands": commands}})
        await house.services.recipes.load()
        tools = await listed(await house.web())
        assert "probe_echo" in tools
        assert "run_command" not in tools


async def test_the_list_follows_the_recipe_the_room_and_the_catalogue(own_house: Callable[..., Any]):
    async with own_house() as house:
        web = await house.web()
        assert "probe_echo" in await listed(web)
        commands = {**RECIPE["strategy"]["aiCommands"], "blacklist": ["probe/echo"]}
        write_recipe(house.home, {**RECIPE, "strategy": {"aiCommands": commands}})
        await house.services.recipes.load()
        assert "probe_echo" not in await listed(web)
        await house.owner("room/recipe", name="workshop", recipe="admin")
        assert {"shell_ls", "probe_echo"} <= set(await listed(web))
        house.services.catalogue.file.write_text('{"commands": []}')
        await house.services.catalogue.load()
        assert "shell_ls" not in await listed(web)
        await house.owner("room/archive", name="workshop")
        assert "archived" in (await web.ask("tools/list")).error["message"]


async def test_two_callers_do_not_see_each_others_list(house: McpHouse):
    reader, writer = await house.web(access="read"), await house.web()
    assert "file_write" in await listed(writer)
    assert "file_write" not in await listed(reader)
    assert "file_write" in await listed(writer)


async def test_a_thousand_tools_fit_on_one_page_if_the_settings_say_so(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(tools="all", page=2_000))) as house:
        await house.owner("room/recipe", name="workshop", recipe="admin")
        house.services.registry.replace("many", [many(number) for number in range(1_000)], {})
        house.announce("tools")
        web = await house.web()
        names = set(await listed(web))
        assert {f"many_tool{number}" for number in range(1_000)} <= names
        offer = house.door.dispatcher._offers.get(house.gate.caller(Credential(token=web.token)), "workshop")
        house.services.registry.replace("many", [], {})
        assert set(await listed(web)) == names, "it is kept as bytes until an event says that it changed"
        house.announce("tools")
        assert house.door.dispatcher._offers.get(offer.caller, "workshop") is not offer
        assert "many_tool1" not in await listed(web)


def many(number: int) -> Command:
    async def run(ctx: Any) -> None:
        return None

    facts = Facts(
        tier=Tier.INFORMATION,
        effects=Effects.READ,
        access=Access.READ,
        safety=Safety.SAFE,
        cost=1,
        timeout=1,
        undo=READS_ONLY,
        examples=(Example("x", {}),),
    )
    return Command(
        f"many/tool{number}",
        facts,
        run=run,
        summary="One of many.",
        description="One of many.",
        category="many",
        schema={"type": "object", "properties": {}, "additionalProperties": False},
        arguments={},
    )


async def test_without_a_room_in_the_address_a_token_for_one_room_acts_there(house: McpHouse):
    bound = Web(house.server.public, await house.token(rooms=["workshop"]), "/mcp")
    free = Web(house.server.public, await house.token(), "/mcp")
    calls = [(await web.call("probe_number")).result["_meta"]["doorward/call"] for web in (bound, free)]
    rooms = {row["call"]: row["room"] for row in await house.ledger("probe/number")}
    assert [rooms[call] for call in calls] == ["workshop", "general"]
