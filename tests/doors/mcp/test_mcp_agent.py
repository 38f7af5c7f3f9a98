"""The keeper over MCP: a tool of its own, which tells what it does meanwhile."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from mcp_house import McpHouse, furnish, write_recipe
from mcp_web import Web

from doorward.app import open_house
from doorward.config.home import Home
from doorward.config.settings import KeeperSettings, McpSettings, Settings
from doorward.core.validation import validator
from keeper_house import Kept, run

RECIPE = {
    "recipeId": "thinking",
    "displayName": "Thinking",
    "strategy": {
        "aiCommands": {
            "enabled": True,
            "whitelist": ["agent/ask", "data/*", "file/*"],
            "maxCommandsPerMinute": 10_000,
        }
    },
}


@pytest.fixture(scope="module")
async def house(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[McpHouse]:
    home = Home(tmp_path_factory.mktemp("mcp-agent") / "home")
    families = furnish(home)
    write_recipe(home, RECIPE)
    settings = Settings(keeper=KeeperSettings(model="scripted"), mcp=McpSettings(tools="all"))
    async with open_house(home, families=families, changes=settings) as opened:
        made = McpHouse(opened)
        await made.move_in()
        await made.owner("room/create", name="study", recipe="thinking")
        yield made


@pytest.fixture
def keeper(house: McpHouse) -> Kept:
    return Kept(house.house)


@pytest.fixture
async def study(house: McpHouse) -> Web:
    return await house.web(kind="service", room="study", access="root")


async def test_the_keeper_is_a_tool_where_its_room_allows_it(study: Web, web: Web) -> None:
    tools = {one["name"]: one for one in (await study.ask("tools/list")).result["tools"]}
    assert tools["doorward_agent"]["title"] == "agent/ask"
    assert set(tools["doorward_agent"]["inputSchema"]["properties"]) == {"prompt", "session", "model", "ticket"}
    assert "toolCalls" in tools["doorward_agent"]["outputSchema"]["properties"]
    elsewhere = [one["name"] for one in (await web.ask("tools/list")).result["tools"]]
    assert "doorward_agent" not in elsewhere


async def test_its_answer_is_words_for_models_and_the_whole_for_programs(keeper: Kept, study: Web) -> None:
    keeper.says([run("data/list", collection="rooms")], "There are two rooms.")
    result = (await study.call("doorward_agent", prompt="how many rooms are there")).result
    answer = result["structuredContent"]
    tools = {one["name"]: one for one in (await study.ask("tools/list")).result["tools"]}
    assert validator(tools["doorward_agent"]["outputSchema"]).is_valid(answer)
    assert answer["success"] is True
    assert answer["toolCalls"][0]["status"] == "done"
    assert result["content"][0]["text"].startswith("There are two rooms.\n[run_command data/list: done]")


async def test_what_it_does_is_told_as_progress(keeper: Kept, study: Web) -> None:
    keeper.says([run("data/list", collection="rooms")], "There are two rooms.")
    arguments = {"prompt": "how many rooms are there"}
    asked = {"name": "doorward_agent", "arguments": arguments}
    *told, last = await (await study.open("tools/call", asked, progressToken="t").begun()).events()
    said = json.dumps(told)
    assert "Thinking with scripted" in said
    assert last["result"]["structuredContent"]["response"] == "There are two rooms."


async def test_what_waits_goes_on_with_its_own_ticket_and_no_other_tool(
    house: McpHouse, keeper: Kept, study: Web
) -> None:
    await house.owner("file/write", path="old.txt", content="old")
    keeper.says([run("file/delete", path="old.txt")], "It is gone.")
    answer = (await study.call("doorward_agent", prompt="delete old.txt")).result["structuredContent"]
    ticket = answer["toolCalls"][0]["ticket"]
    assert answer["ended"] == "waiting"
    await house.owner("approval/approve", id=ticket)
    wrong = (await study.call("resume_approved", ticket=ticket)).result
    assert wrong["_meta"]["doorward/code"] == "not_approved"
    rest = (await study.call("doorward_agent", session=answer["sessionId"], ticket=ticket)).result
    assert rest["structuredContent"]["response"] == "It is gone."
    assert rest["structuredContent"]["success"] is True
