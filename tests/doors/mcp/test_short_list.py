"""By default a client gets a short list: what agents need most, within 30 KB; results are text that models read."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp_house import McpHouse, furnish, write_recipe
from mcp_web import Web

from doorward.app import open_house
from doorward.config.home import Home
from doorward.core.command import Command
from doorward.core.model import Credential
from doorward.doors.mcp import short_list
from doorward.doors.mcp.short_list import RankedTool, select_tools
from doorward.doors.mcp.tools import define_tool, encode_tool

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
OPEN = {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 10_000}


@pytest.fixture(scope="module")
async def house(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[McpHouse]:
    """A house as it is by default, with a room for coding and one where everything is allowed."""
    home = Home(tmp_path_factory.mktemp("short") / "home")
    families = furnish(home)
    write_recipe(home, {"recipeId": "open", "displayName": "Open", "strategy": {"aiCommands": OPEN}})
    chosen = {**OPEN, "toolList": ["shell/wc", "help/*"]}
    write_recipe(home, {"recipeId": "chosen", "displayName": "Chosen", "strategy": {"aiCommands": chosen}})
    async with open_house(home, families=families) as opened:
        made = McpHouse(opened)
        for room, recipe in (("project", "coding"), ("lab", "open"), ("desk", "chosen")):
            await made.owner("room/create", name=room, recipe=recipe)
        yield made


@pytest.fixture
async def lab(house: McpHouse) -> Web:
    return await house.web(kind="service", room="lab", access="full")


def workspace(house: McpHouse) -> Path:
    return Path(house.home.path, "workspace")


async def test_a_coding_room_lists_what_agents_need_below_30_kb(house: McpHouse):
    web = await house.web(room="project", access="full")
    result = (await web.ask("tools/list")).result
    tools = {tool["name"]: tool for tool in result["tools"]}
    assert len(json.dumps(result)) < 30_000
    assert 18 <= len(tools) <= 30
    needed = "bash file_edit file_list file_read file_search file_write room_say shell_git_diff shell_git_status undo"
    assert {*needed.split(), "search_commands", "run_command", "resume_approved"} <= set(tools)
    assert not [name for name, tool in tools.items() if "outputSchema" in tool]
    assert "shell_wc" not in tools
    assert "a person is asked about each host" in (await web.ask("server/discover")).result["instructions"]
    (workspace(house) / "a.txt").write_text("one\n")
    counted = await web.call("shell_wc", files=["a.txt"], lines=True)
    assert counted.result["content"][0]["text"].startswith("Result: 1 a.txt"), counted.result


async def test_the_address_can_ask_for_every_tool_with_its_schemas(house: McpHouse):
    short = await house.web(room="project", access="full")
    web = Web(house.server.public, short.token, "/mcp/project?tools=all")
    tools = {tool["name"]: tool for tool in (await web.ask("tools/list")).result["tools"]}
    caller = house.gate.caller(Credential(token=web.token))
    offered = {one.wire for one in house.gate.offered(caller, "project") if not one.unlisted}
    assert set(tools) == offered | {"resume_approved"}
    assert "outputSchema" in tools["shell_wc"]
    wrong = await Web(house.server.public, short.token, "/mcp/project?tools=some").ask("tools/list")
    assert wrong.status == 400
    assert "tools in the address must be auto, all or search; given 'some'" in str(vars(wrong))


async def test_a_recipe_can_name_its_own_list(house: McpHouse):
    web = await house.web(room="desk")
    names = {tool["name"] for tool in (await web.ask("tools/list")).result["tools"]}
    own = {"search_commands", "describe_command", "run_command", "resume_approved"}
    assert names == own | {"shell_wc", "help_search", "help_describe", "help_suggest"}


async def test_tools_of_another_server_are_listed_only_if_all_of_them_fit(house: McpHouse, lab: Web):
    offer = house.door.dispatcher._offers.get(house.gate.caller(Credential(token=lab.token)), "lab")
    model = house.services.registry["help/search"]

    def make(server: str, count: int, text: str) -> list[RankedTool]:
        made = []
        for number in range(count):
            command = Command.__new__(_Foreign)
            command.__dict__.update(model.__dict__)
            command.name, command.category, command.description = f"mcp/{server}/t{number}", f"mcp/{server}", text
            made.append(RankedTool(command, encode_tool(define_tool(command, None, f"{server}_t{number}"))))
        return made

    small, large = make("small", 3, "Short."), make("large", 3, "x" * short_list.MAX_BYTES)
    assert [one.command.name for one in select_tools(offer, [*large, *small])] == [one.command.name for one in small]


class _Foreign(Command):
    ours = False


async def test_a_file_is_plain_text_with_line_numbers_on_request(house: McpHouse, lab: Web):
    (workspace(house) / "story.txt").write_text('one "door"\n\ttwo\nthree\n')
    whole = (await lab.call("file_read", path="story.txt")).result
    assert whole["content"] == [{"type": "text", "text": 'one "door"\n\ttwo\nthree\n'}]
    assert "structuredContent" not in whole
    some = (await lab.call("file_read", path="/workspace/story.txt", offset=2, limit=1, numbered=True)).result
    assert some["content"][0]["text"] == "     2\t\ttwo\n[lines 2 to 2 of 3; read on with offset 3]"


async def test_a_picture_is_an_image_block(house: McpHouse, lab: Web):
    (workspace(house) / "pixel.dat").write_bytes(PICTURE)
    shown = (await lab.call("file_read", path="pixel.dat")).result
    data = base64.b64encode(PICTURE).decode()
    assert shown["content"] == [{"type": "image", "data": data, "mimeType": "image/png"}]
    assert "structuredContent" not in shown
    programs = Web(house.server.public, lab.token, "/mcp/lab?tools=all")
    told = (await programs.call("file_read", path="pixel.dat")).result
    assert told["structuredContent"]["mimeType"] == "image/png"


async def test_a_program_answers_with_text(lab: Web):
    failed = (await lab.call("bash", command="echo out; echo bad >&2; exit 3")).result
    assert "structuredContent" not in failed
    text = failed["content"][0]["text"]
    assert [word for word in ("stdout: out", "stderr: bad", "exit code: 3") if word not in text] == []


async def test_a_short_result_is_structured_too(lab: Web):
    told: dict[str, Any] = (await lab.call("execution_status", execution="nothing")).result
    assert told["isError"] is True
    found = (await lab.call("search_commands", query="count the words")).result
    assert found["structuredContent"]["items"]


async def test_a_long_file_is_cut_after_a_line_and_read_on_by_offset(house: McpHouse, lab: Web):
    lines = [f"{number:05} {'x' * 50}\n" for number in range(1_500)]
    (workspace(house) / "long.txt").write_text("".join(lines))
    found, offset = "", 1
    while offset <= 1_500:
        text = (await lab.call("file_read", path="long.txt", offset=offset)).result["content"][0]["text"]
        body, _, note = text.rpartition("[lines ")
        assert len(text) < 31_000
        assert note.startswith(f"{offset} to "), note
        found += body
        offset += body.count("\n")
    assert found == "".join(lines)
    (workspace(house) / "line.txt").write_text("x" * 100_000)
    text = (await lab.call("file_read", path="line.txt")).result["content"][0]["text"]
    assert "line 1 is longer than" in text
