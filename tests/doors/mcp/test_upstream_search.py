"""Hundreds of tools of other servers: a client is listed a few, told of the namespaces, and finds the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp_house import McpHouse, write_recipe
from mcp_web import Web
from upstream_door import open_door, recipe, server

from doorward.config.settings import McpSettings, Settings
from doorward.doors.mcp.tools import APPROVAL_FOR_AGENTS, define_tool


@pytest.fixture(scope="module")
async def house(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[McpHouse]:
    servers = [server("notes"), server("books", autoApprove=False)]
    folder = tmp_path_factory.mktemp("search")
    async with open_door(folder, *servers, changes=Settings(mcp=McpSettings(search_above=20))) as house:
        yield house


@pytest.fixture
async def web(house: McpHouse) -> Web:
    return await house.web(kind="service", room="annex")


async def found(web: Web, **params: Any) -> list[str]:
    result = (await web.call("search_commands", **params)).result
    assert "isError" not in result, result
    return [item["command"] for item in result["structuredContent"]["items"]]


async def test_the_list_is_short_and_every_tool_can_be_called_all_the_same(web: Web):
    names = [tool["name"] for tool in (await web.ask("tools/list")).result["tools"]]
    assert {"search_commands", "describe_command", "run_command", "resume_approved"} <= set(names)
    listed = [sum(name.startswith(server) for name in names) for server in ("books_", "notes_")]
    assert listed[0] == listed[1] > 0, "a server's tools are listed as long as all of them fit"
    assert (await web.call("notes_sums")).result["structuredContent"] == {"sum": 3}
    by_name = await web.call("run_command", command="mcp/notes/sums", params={})
    assert by_name.result["structuredContent"] == {"sum": 3}


async def test_the_instructions_tell_the_namespaces_and_how_many_tools_each_has(house: McpHouse, web: Web):
    told = (await web.ask("server/discover")).result["instructions"]
    tools = sum(one.name.startswith("mcp/notes/") and not one.unlisted for one in house.services.registry)
    assert f"{2 * tools} tools belong to other MCP servers, by namespace: mcp/books ({tools})" in told
    assert f"mcp/notes ({tools})" in told
    assert "search_commands takes a namespace" in told
    cell = await house.web(kind="service", room="cell")
    assert "MCP servers" not in (await cell.ask("server/discover")).result["instructions"]


async def test_where_the_rules_allow_no_search_the_instructions_say_why_all_are_listed(house: McpHouse):
    write_recipe(house.home, recipe("plain", "mcp/*"))
    await house.services.recipes.load()
    await house.owner("room/create", name="plain", recipe="plain")
    web = await house.web(kind="service", room="plain")
    assert (
        "because the room's rules do not allow help/search" in (await web.ask("server/discover")).result["instructions"]
    )


async def test_tools_are_found_by_server_name_and_description(web: Web):
    assert (await found(web, query="pomegranates")) == ["mcp/books/sums", "mcp/notes/sums"]
    assert (await found(web, query="sums of notes"))[0] == "mcp/notes/sums"
    of_books = await found(web, query="what the books have", limit=3)
    assert all(name.startswith("mcp/books/") for name in of_books), of_books


async def test_a_search_within_a_namespace_finds_nothing_of_another(web: Web):
    assert await found(web, query="sums", namespace="mcp/books") == ["mcp/books/sums"]
    everything = await found(web, namespace="mcp/books")
    assert "mcp/books/blocks" in everything
    assert all(name.startswith("mcp/books/") for name in everything)
    wrong = (await web.call("search_commands", query="sums", namespace="mcp/nobody")).result
    assert "There is no namespace 'mcp/nobody' for you here. Namespaces: help, mcp, mcp/books, mcp/notes." in str(wrong)
    first, second = [
        (await web.call("search_commands", namespace="mcp/books", limit=10, offset=offset)).result["structuredContent"]
        for offset in (0, 10)
    ]
    assert (first["total"], first["next"], len(first["items"])) == (len(everything), 10, 10)
    assert [one["command"] for one in (*first["items"], *second["items"])][:20] == everything[:20]
    nothing = (await web.call("search_commands")).result
    assert nothing["_meta"]["doorward/code"] == "bad_params"


async def test_a_namespace_that_is_described_says_what_is_in_it(web: Web):
    told = (await web.call("describe_command", command="mcp/books")).result
    assert "mcp/books is a namespace, not a command" in told["content"][0]["text"]
    assert told["_meta"]["doorward/hint"] == "Search in it: help/search --namespace=mcp/books"
    one = (await web.call("describe_command", command="books_sums")).result["structuredContent"]
    assert (one["name"], one["category"]) == ("mcp/books/sums", "mcp/books")


async def test_a_tool_says_that_its_calls_wait_for_approval(house: McpHouse):
    asks, free = (define_tool(house.services.registry[f"mcp/{id}/sums"]) for id in ("books", "notes"))
    assert str(asks.description).endswith(APPROVAL_FOR_AGENTS)
    assert APPROVAL_FOR_AGENTS not in str(free.description)
