"""A person's own file of servers, imported, and a room in which an AI may read files through one of them, no more."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import CallToolResult, TextContent
from peer_house import NEW, OLD, PeerHouse, Way
from real_servers import MODULES, Places

from doorward_process import BIN, Doorward
from node_peers import package
from waiting import AT_LEISURE, wait_until

EXAMPLES = Path(__file__).parents[2] / "examples"
READING = ["read_text_file", "list_directory", "search_files"]


def own_file(folder: Path) -> Path:
    """The example, for a person who lives in this folder and has installed what npx and uvx would fetch."""
    package("@modelcontextprotocol/server-filesystem")
    text = (EXAMPLES / "claude_desktop_config.json").read_text().replace("/home/ada", str(folder))
    whole = json.loads(text)
    for entry in whole["mcpServers"].values():
        fetched = 2 if entry["command"] == "npx" else 1
        name = entry["args"][fetched - 1].rpartition("/")[2]
        entry["command"] = name if name.startswith("mcp-") else f"mcp-{name}"
        entry["args"] = entry["args"][fetched:]
    file = folder / "claude_desktop_config.json"
    file.write_text(json.dumps(whole))
    return file


class Reading(PeerHouse):
    """The house of that person; its clients act in the reading room."""

    def __init__(self, doorward: Doorward, url: str, documents: Path, imported: dict[str, Any]) -> None:
        super().__init__(doorward, f"{url}/reading")
        self.documents = documents
        self.imported = imported

    def wait(self, condition: Callable[[], bool]) -> None:
        wait_until(condition, AT_LEISURE)

    def servers(self) -> dict[str, dict[str, Any]]:
        return {one["id"]: one for one in self.owner("mcp/servers")["items"]}

    def terms(self) -> dict[str, dict[str, Any]]:
        """On what terms each tool of the file server is offered."""
        return {one["tool"]: one for one in self.owner("mcp/tools", server="filesystem")["items"]}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reading]:
    folder = tmp_path_factory.mktemp("story")
    places = Places(folder)
    places.documents.rename(folder / "Documents")
    places.repository.rename(folder / "notes")
    doorward = Doorward(folder / "home", PATH=f"{MODULES / '.bin'}:{BIN}:/usr/bin:/bin")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(doorward.serving())
        imported = doorward("servers", "import", str(own_file(folder)), "--yes", "--json")
        assert imported.code == 0, imported
        for words in (
            ["recipe", "put", str(EXAMPLES / "reading-room.json")],
            ["rooms", "create", "reading", "--recipe=reading-room"],
        ):
            done = doorward(*words)
            assert done.code == 0, done
        url = f"http://{server.host}:{server.port}/mcp"
        made = Reading(doorward, url, folder / "Documents", imported.json["result"])
        made.wait(lambda: all(one["state"] == "ready" for one in made.servers().values()))
        yield made


def said(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def test_the_recipe_and_the_page_name_the_tools_that_are_told_of_here() -> None:
    commands = json.loads((EXAMPLES / "reading-room.json").read_text())["strategy"]["aiCommands"]
    assert commands["whitelist"] == [f"mcp/filesystem/{name}" for name in READING]
    assert f'"autoApprove": {json.dumps(READING)}' in (EXAMPLES.parent / "docs" / "SERVERS.md").read_text()


def test_all_five_are_taken_over_with_what_their_words_name_to_read_and_nothing_to_write(house: Reading) -> None:
    planned = {one["id"]: one for one in house.imported["items"]}
    assert list(planned) == ["filesystem", "memory", "everything-demo", "git", "time"]
    assert house.imported["skipped"] == []
    assert planned["filesystem"]["reads"] == [str(house.documents)]
    assert [one["writes"] for one in planned.values()] == [[]] * 5
    assert not any(one["network"] for one in planned.values())
    house.wait(lambda: {id: one["tools"] > 0 for id, one in house.servers().items()} == dict.fromkeys(planned, True))


async def test_the_ai_reads_once_the_owner_says_that_nobody_need_be_asked(house: Reading) -> None:
    """Until then each call waits for a person. The edit of the file holds at once, and the server stays up."""
    notes = {"path": str(house.documents / "notes.md")}
    before = house.servers()["filesystem"]["since"]
    async with Way(house, "http", OLD).client() as client:
        waits = await client.call_tool("filesystem_read_text_file", notes)
    assert waits.is_error
    assert "doorward approvals approve" in said(waits)

    file = house.doorward.home / "mcp-servers.json"
    whole = json.loads(file.read_text())
    next(one for one in whole["servers"] if one["id"] == "filesystem")["autoApprove"] = READING
    file.write_text(json.dumps(whole, indent=2))
    house.wait(lambda: not house.terms()["read_text_file"]["approval"])

    for era in (OLD, NEW):
        async with Way(house, "http", era).client(f"reader-{era}") as client:
            read = await client.call_tool("filesystem_read_text_file", notes)
            listed = await client.call_tool("filesystem_list_directory", {"path": str(house.documents)})
        assert (read.is_error, said(read)) == (False, "one door\n")
        assert said(listed) == "[FILE] notes.md"
        done = [command for command, code in house.ended(f"reader-{era}") if code == "ok"]
        assert done == ["mcp/filesystem/read_text_file", "mcp/filesystem/list_directory"]
    assert house.servers()["filesystem"]["since"] == before


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_nothing_else_is_offered_or_done(house: Reading, era: str) -> None:
    write = {"path": str(house.documents / "new.md"), "content": "x"}
    refused = [
        ("filesystem_write_file", write),
        ("memory_read_graph", {}),
        ("git_git_log", {"repo_path": str(house.documents)}),
        ("mcp_call", {"server": "filesystem", "tool": "write_file", "arguments": write}),
        ("file_read", {"path": "notes.md"}),
        ("shell_echo", {"text": ["hello"]}),
    ]
    name = f"curious-{era}"
    async with Way(house, "http", era).client(name) as client:
        offered = {tool.name for tool in (await client.list_tools()).tools}
        for tool, arguments in refused:
            with contextlib.suppress(MCPError):  # a tool that is not there for this caller
                assert (await client.call_tool(tool, arguments)).is_error, tool
        resources = (await client.list_resources()).resources
    assert offered == {f"filesystem_{name}" for name in READING} | {"resume_approved"}
    assert [one for one in resources if str(one.uri).startswith("mcp:")] == []
    assert [one.name for one in house.documents.iterdir()] == ["notes.md"]
    tried = house.ended(name)
    assert len(tried) >= len(refused)
    assert {code for _, code in tried} == {"not_permitted"}


def test_the_server_itself_cannot_write_even_for_the_owner(house: Reading) -> None:
    """It was given its folder to read; the sandbox holds it to that."""
    words = [f"--path={house.documents / 'new.md'}", "--content=x"]
    done = house.doorward("run", "--room=", "--as=me", "mcp/filesystem/write_file", *words)
    assert done.code != 0
    assert "EROFS" in done.out + done.err
    assert not (house.documents / "new.md").exists()
