"""Resources and prompts of other servers: listed under their server's name, and read through the gate or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp_house import McpHouse, write_recipe
from mcp_web import Web
from upstream_door import open_door, recipe, server

from doorward.core.model import Credential
from doorward.upstream.resources import clean_entry, unwrap_uri, wrap_content_uris, wrap_uri
from waiting import PATIENCE

ONE = "mcp://notes/note:///one"


@pytest.fixture(scope="module")
async def house(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[McpHouse]:
    servers = [server("notes"), server("strict", autoApprove=False), server("shut", tools=["sums"])]
    async with open_door(tmp_path_factory.mktemp("reading"), *servers) as house:
        yield house


@pytest.fixture
async def web(house: McpHouse) -> Web:
    return await house.web(kind="service", room="annex")


async def listed(web: Web, method: str) -> list[dict[str, Any]]:
    result = (await web.ask(f"{method}/list")).result
    return list(result[{"resources/templates": "resourceTemplates"}.get(method, method)])


async def test_resources_are_listed_under_the_name_of_their_server(web: Web):
    found = {one["uri"]: one for one in await listed(web, "resources")}
    assert {uri for uri in found if uri.startswith("mcp://")} == {
        f"mcp://{id}/note:///{name}" for id in ("notes", "strict") for name in ("one", "two")
    }
    words = (
        "From the MCP server notes, in that server's own words:\n"
        "\\u202ewords\n(Doorward warns: its description contains"
    )
    assert found[ONE].pop("description").startswith(words)
    assert found[ONE] == {"uri": ONE, "name": "notes_one"}
    templates = {one["uriTemplate"]: one["name"] for one in await listed(web, "resources/templates")}
    assert templates["mcp://notes/note:///{name}"] == "notes_note"


async def test_a_resource_is_read_by_the_address_that_it_is_listed_under(house: McpHouse, web: Web):
    read = await web.ask("resources/read", {"uri": ONE})
    assert read.result["contents"] == [{"uri": ONE, "mimeType": "text/plain", "text": "first"}]
    (row,) = (await house.ledger("mcp/notes/resources.read"))[-1:]
    assert row["status"] == "done"
    missing = await web.ask("resources/read", {"uri": "mcp://notes/note:///none"})
    assert "There is no note:///none" in missing.error["message"]
    assert missing.error["code"] == -32602
    for uri in ("mcp://nobody/note:///one", "mcp://shut/note:///one", "mcp:///x", f"mcp://notes/{'x' * 9_000}"):
        assert "There is no resource" in (await web.ask("resources/read", {"uri": uri})).error["message"]
    large = await web.ask("resources/read", {"uri": "mcp://notes/note:///large"})
    assert "one message holds at most 1000000" in large.error["message"]


async def test_a_room_whose_recipe_allows_nothing_of_a_server_sees_and_reads_nothing_of_it(house: McpHouse):
    web = await house.web(kind="service", room="cell")
    assert not [one for one in await listed(web, "resources") if one["uri"].startswith("mcp:")]
    assert await listed(web, "resources/templates") == []
    assert [one["name"] for one in await listed(web, "prompts")] == ["task", "use", "work_here"]
    refused = await web.ask("resources/read", {"uri": ONE})
    assert refused.error["data"]["code"] == "not_permitted"
    assert "There is no prompt" in (await web.ask("prompts/get", {"name": "notes_greet"})).error["message"]
    for command in ("mcp_read", "notes_resources_read"):
        called = await web.call(command, uri=ONE)
        assert called.result["_meta"]["doorward/code"] == "not_permitted"


async def test_reading_from_a_server_whose_calls_need_approval_needs_it_too(house: McpHouse):
    web = await house.web(room="annex")
    waits = await web.ask("resources/read", {"uri": "mcp://strict/note:///one"})
    ticket = waits.error["data"]["ticket"]
    await house.owner("approval/approve", id=ticket)
    read = await web.call("resume_approved", ticket=ticket)
    assert read.result["content"][0]["resource"]["text"] == "first"
    by_tool = (await web.call("mcp_read", uri="mcp://strict/note:///one")).result["_meta"]
    assert (by_tool["doorward/status"], by_tool["doorward/command"]) == ("parked", "mcp/strict/resources.read")
    assert by_tool["doorward/ticket"]
    assert (await web.ask("prompts/get", {"name": "strict_greet", "arguments": {"who": "a"}})).error["data"]["ticket"]


async def test_an_allow_list_without_them_offers_no_resources_and_no_prompts(house: McpHouse):
    registry = house.services.registry
    assert "mcp/shut/sums" in registry
    assert [name for name in ("mcp/shut/resources.read", "mcp/shut/prompts.get") if name in registry] == []


async def test_prompts_come_from_their_server_and_never_in_place_of_our_own(web: Web):
    names = [one["name"] for one in await listed(web, "prompts")]
    assert names == sorted([*names])
    assert {"notes_greet", "notes_use", "strict_greet", "use", "task"} <= set(names)
    greet = next(one for one in await listed(web, "prompts") if one["name"] == "notes_greet")
    assert greet["arguments"] == [{"name": "who", "required": True}]
    got = (await web.ask("prompts/get", {"name": "notes_greet", "arguments": {"who": "Ada"}})).result
    assert got["description"] == "a greeting"
    assert got["messages"][0] == {"role": "user", "content": {"type": "text", "text": "Greet Ada."}}
    assert got["messages"][1]["content"]["uri"] == ONE
    missing = await web.ask("prompts/get", {"name": "notes_greet"})
    assert (missing.error["code"], missing.error["data"]["code"]) == (-32602, "bad_params")
    odd = await web.ask("prompts/get", {"name": "notes_use"})
    assert "has the role 'wizard'; valid: the role user or assistant" in odd.error["message"]


async def test_models_read_what_they_are_given_links_to_with_a_tool(house: McpHouse, web: Web):
    read = (await web.call("mcp_read", uri=ONE)).result
    assert read["content"][0]["resource"]["text"] == "first"
    by_server = await house.ask("mcp/read", Credential(owner=True), server="notes", uri="note:///two")
    assert by_server.text == "second"
    greet = {"server": "notes", "name": "greet", "arguments": {"who": "Ada"}}
    prompt = await house.ask("mcp/prompt", Credential(owner=True), **greet)
    assert prompt.text.startswith("user:\nGreet Ada.")
    nowhere = await house.ask("mcp/read", Credential(owner=True), uri="note:///two")
    assert nowhere.code == "bad_params"
    assert (await house.ask("mcp/read", Credential(owner=True), uri="mcp://no/x")).code == "not_found"


async def test_the_commands_that_read_are_not_listed_as_tools(web: Web):
    names = [tool["name"] for tool in (await web.ask("tools/list")).result["tools"]]
    assert "notes_sums" in names
    assert not [name for name in names if name.endswith(("resources_read", "prompts_get", "completion_complete"))]


async def test_arguments_are_completed_by_the_server_that_has_them(house: McpHouse, web: Web):
    async def completed(ref: dict[str, str], web: Web = web) -> Any:
        asked = {"ref": ref, "argument": {"name": "who", "value": "x"}}
        return (await web.ask("completion/complete", asked)).result["completion"]["values"]

    prompt, template = {"type": "ref/prompt"}, {"type": "ref/resource"}
    assert await completed({**prompt, "name": "notes_greet"}) == ["ref/prompt:xa", "ref/prompt:xb"]
    uri = "mcp://notes/note:///{name}"
    assert await completed({**template, "uri": uri}) == ["ref/resource:xa", "ref/resource:xb"]
    assert await completed({**prompt, "name": "strict_greet"}) == [], "nobody is asked for approval of a completion"
    assert await house.ledger("mcp/strict/completion.complete") == []


async def test_who_subscribes_hears_of_the_change_and_nobody_else_does(house: McpHouse):
    web, other = await house.web(kind="service", room="annex"), await house.web(kind="service", room="annex")
    await web.initialize()
    await other.initialize()
    stream, silent = await web.listen().begun(), await other.listen().begun()
    assert (await web.request("resources/subscribe", {"uri": ONE})).result == {}
    while (
        await web.request("tools/call", {"name": "notes_change", "arguments": {}})
    ).said != "told of ['note:///one']":
        pass
    told = await stream.event()
    assert told is not None
    assert (told["method"], told["params"]) == ("notifications/resources/updated", {"uri": ONE})
    await web.request("resources/unsubscribe", {"uri": ONE})
    while (await web.request("tools/call", {"name": "notes_change", "arguments": {}})).said != "told of []":
        pass
    await web.request("tools/call", {"name": "notes_grow", "arguments": {}})
    for one in (stream, silent):
        news = await one.event()
        assert news is not None
        assert news["method"] == "notifications/resources/list_changed"
    await stream.hang_up()
    await silent.hang_up()
    assert "mcp://notes/note:///new" in [one["uri"] for one in await listed(web, "resources")]


async def test_without_sessions_subscribers_hear_of_it_too(tmp_path: Path):
    async with open_door(tmp_path, server("notes", "--stateless")) as house:
        web = await house.web(kind="service", room="annex")
        wanted = {"notifications": {"resourceSubscriptions": [ONE, "mcp://notes/none"], "resourcesListChanged": True}}
        stream = await web.open("subscriptions/listen", wanted).begun()
        agreed = (await stream.event() or {})["params"]["notifications"]
        assert agreed["resourceSubscriptions"] == [ONE], "one hears only of what is listed"
        while "note:///one" not in (await web.call("notes_change")).said:
            pass
        told = await stream.event()
        assert told is not None
        assert (told["method"], told["params"]["uri"]) == ("notifications/resources/updated", ONE)
        await stream.hang_up()


async def test_listening_to_a_resource_is_a_call_of_what_reads_it_and_recorded_as_one(house: McpHouse):
    web = await house.web(kind="service", room="annex")
    await web.initialize()
    before = len(await house.ledger("mcp/notes/resources.read"))
    assert (await web.request("resources/subscribe", {"uri": ONE})).result == {}
    assert (await web.request("resources/subscribe", {"uri": ONE})).result == {}, "which is nothing new"
    unlisted = await web.request("resources/subscribe", {"uri": "mcp://notes/note:///?word=mine"})
    assert "only listed resources" in unlisted.error["message"]
    rows = (await house.ledger("mcp/notes/resources.read"))[before:]
    assert [row["status"] for row in rows if row["status"] != "started"] == ["done", "failed"]
    await web.request("resources/unsubscribe", {"uri": ONE})
    waits = await web.request("resources/subscribe", {"uri": "mcp://strict/note:///one"})
    assert waits.error["data"]["code"] == "not_permitted"
    assert "waits for a person's approval" in waits.error["message"]


async def test_who_may_read_only_with_approval_from_now_on_hears_no_more(house: McpHouse):
    watched = recipe("watched", "mcp/*")
    write_recipe(house.home, watched)
    await house.services.recipes.load()
    await house.owner("room/create", name="watched", recipe="watched")
    web, other = await house.web(kind="service", room="watched"), await house.web(kind="service", room="annex")
    await web.initialize()
    stream = await web.listen().begun()
    assert (await web.request("resources/subscribe", {"uri": ONE})).result == {}
    async with asyncio.timeout(PATIENCE):
        while (await other.call("notes_change")).said != "told of ['note:///one']":
            pass
        watched["strategy"]["aiCommands"]["requireApproval"] = {"mcp/notes/resources.read": True}
        write_recipe(house.home, watched)
        await house.services.recipes.load()
        while (await other.call("notes_change")).said != "told of []":
            pass
    while (told := await stream.event() or {}).get("method") != "notifications/message":
        pass
    assert f"The subscription to {ONE} has ended" in told["params"]["data"]
    await stream.hang_up()


async def test_a_recipe_for_one_server_gives_nothing_of_another(house: McpHouse):
    write_recipe(house.home, recipe("one", "mcp/notes/*"))
    await house.services.recipes.load()
    await house.owner("room/create", name="one", recipe="one")
    web = await house.web(kind="service", room="one")
    assert {one["uri"].split("/")[2] for one in await listed(web, "resources")} == {"notes"}
    assert (await web.ask("resources/read", {"uri": ONE})).result["contents"]
    refused = await web.ask("resources/read", {"uri": "mcp://strict/note:///one"})
    assert refused.error["data"]["code"] == "not_permitted"


async def test_another_tenant_sees_no_server_of_the_house(house: McpHouse):
    await house.owner("user/create", id="boss", access="root", tenant="rival")
    made = await house.owner("token/create", name="r", user="boss", tenant="rival", kind="human", access="root")
    boss = Credential(token=made.result["token"])
    assert (await house.ask("room/create", boss, name="annex", recipe="annex")).status == "done"
    web = Web(house.server.public, made.result["token"], "/mcp/annex")
    assert not [one for one in await listed(web, "resources") if one["uri"].startswith("mcp:")]
    assert [one["name"] for one in await listed(web, "prompts")] == ["task", "use", "work_here"]
    there, nowhere = [
        (await web.ask("resources/read", {"uri": uri})).error for uri in (ONE, "mcp://nobody/note:///one")
    ]
    assert (there["code"], there["message"].replace("notes", "nobody")) == (nowhere["code"], nowhere["message"])
    for command, params in (
        ("mcp/read", {"uri": ONE}),
        ("mcp/questions", {}),
    ):
        assert (await house.ask(command, boss, room="annex", **params)).code == "not_permitted"
    hidden = await house.ask("mcp/notes/prompts.get", boss, room="annex", name="a")
    assert hidden.code == "unknown_command"
    assert "MCP servers" not in (await web.ask("server/discover")).result["instructions"]


@pytest.mark.parametrize("uri", ["note:///one", "a", "file:///x y/ü?q#f", "mcp://other/x", "x" * 4_000])
def test_an_address_leads_back_to_what_it_was_made_from(uri: str):
    assert unwrap_uri(wrap_uri("some-server", uri)) == ("some-server", uri)


@pytest.mark.parametrize("uri", ["mcp://", "mcp://a", "mcp://a/", "mcp://A/x", "mcp://-/x", "http://a/x", "x" * 9_000])
def test_other_addresses_lead_to_no_server(uri: str):
    assert unwrap_uri(uri) is None


def test_blocks_without_addresses_are_the_very_same():
    content = [{"type": "text", "text": "note:///one"}]
    assert wrap_content_uris("a", content) is content


def test_an_entry_of_a_list_has_only_fields_that_clients_can_read():
    odd = {"name": "n", "title": 7, "size": "x", "_meta": [], "description": "a\u200bb", "icons": [], "annotations": 1}
    assert clean_entry(odd) == {"name": "n", "description": "a\\u200bb"}
    prompt = {"name": "p", "arguments": [{"name": "a", "required": "yes"}, 7, {"required": True}]}
    assert clean_entry(prompt) == {"name": "p", "arguments": [{"name": "a"}]}
