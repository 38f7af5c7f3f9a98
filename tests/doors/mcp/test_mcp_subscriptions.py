"""News: lists that changed and resources that changed, to those who asked, and only then."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp_house import RECIPE, McpHouse, write_recipe
from mcp_web import Exchange, Web

from doorward.config.settings import McpSettings, Settings
from doorward.core.model import Credential
from doorward.core.wire import meta

ALL = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


async def listen(web: Web, wanted: dict[str, Any]) -> Exchange:
    return await web.open("subscriptions/listen", {"notifications": wanted}).begun()


async def event(exchange: Exchange) -> dict[str, Any]:
    found = await exchange.event()
    assert found is not None
    return found


async def forbid(house: McpHouse, *commands: str) -> None:
    rules = {**RECIPE["strategy"]["aiCommands"], "blacklist": list(commands)}
    write_recipe(house.home, {**RECIPE, "strategy": {"aiCommands": rules}})
    await house.services.recipes.load()


async def test_listening_begins_with_what_was_agreed(web: Web):
    wanted = {**ALL, "resourceSubscriptions": ["doorward://ledger", "nothing://x"], "unheardOf": True}
    stream = await listen(web, wanted)
    assert stream.headers["content-type"] == "text/event-stream"
    first = await event(stream)
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["notifications"] == {**ALL, "resourceSubscriptions": ["doorward://ledger"]}
    assert first["params"]["_meta"][meta.SUBSCRIPTION] == 1
    await stream.hang_up()


async def test_a_recipe_that_changes_the_offer_is_news(own_house: Callable[..., Any]):
    async with own_house() as house:
        web = await house.web()
        stream = await listen(web, {"toolsListChanged": True})
        await event(stream)
        await forbid(house, "probe/echo")
        news = await event(stream)
        assert news["method"] == "notifications/tools/list_changed"
        assert news["params"]["_meta"][meta.SUBSCRIPTION] == 1
        await stream.hang_up()


async def test_what_changes_nothing_for_a_listener_is_no_news(own_house: Callable[..., Any]):
    async with own_house() as house:
        web = await house.web()
        stream = await listen(web, {**ALL, "promptsListChanged": False})
        await event(stream)
        await forbid(house, "shell/ls")
        await house.owner("room/join", name="workshop", member="somebody", kind="ai")
        await house.owner("room/create", name="elsewhere", recipe="admin")
        await forbid(house, "file/list")
        assert {(await event(stream))["method"] for _ in range(2)} == {
            "notifications/tools/list_changed",
            "notifications/resources/list_changed",
        }
        await stream.hang_up()


async def test_another_recipe_for_the_room_is_news_for_sessions_too(own_house: Callable[..., Any]):
    async with own_house() as house:
        web = await house.web()
        await web.initialize()
        stream = await web.listen().begun()
        await house.owner("room/recipe", name="workshop", recipe="read-only-research")
        methods = {(await event(stream))["method"] for _ in range(2)}
        assert methods == {"notifications/tools/list_changed", "notifications/prompts/list_changed"}
        await stream.hang_up()


async def test_another_catalogue_is_news(own_house: Callable[..., Any]):
    async with own_house() as house:
        await house.owner("room/recipe", name="workshop", recipe="admin")
        stream = await listen(await house.web(), {"toolsListChanged": True})
        await event(stream)
        house.services.catalogue.file.write_text('{"commands": []}')
        await house.services.catalogue.load()
        assert (await event(stream))["method"] == "notifications/tools/list_changed"
        await stream.hang_up()


async def test_resources_that_changed_are_news_for_those_who_named_them(house: McpHouse, web: Web):
    room, files, ledger = "doorward://rooms/workshop/messages", "doorward://files/a.txt", "doorward://ledger"
    stream = await listen(web, {"resourceSubscriptions": [room, files, ledger]})
    await event(stream)
    await house.owner("room/say", text="hello", name="workshop")
    told = {(await event(stream))["params"]["uri"] for _ in range(2)}
    assert told == {room, files}, "whatever may have written may have changed a file"
    await web.call("probe_number")
    news = await event(stream)
    assert (news["method"], news["params"]["uri"]) == ("notifications/resources/updated", ledger)
    await stream.hang_up()


async def test_a_session_subscribes_and_unsubscribes(house: McpHouse, web: Web):
    await web.initialize()
    for uri in ("doorward://ledger", "doorward://rooms/workshop/messages"):
        assert (await web.request("resources/subscribe", {"uri": uri})).result == {}
    assert (await web.request("resources/unsubscribe", {"uri": "doorward://ledger"})).result == {}
    assert (await web.request("resources/subscribe", {"uri": "nothing://x"})).error["code"] == -32002
    await web.request("tools/call", {"name": "probe_number"})
    await house.owner("room/say", text="hello", name="workshop")
    stream = await web.listen().begun()
    news = await event(stream)
    assert news["params"] == {"uri": "doorward://rooms/workshop/messages"}
    await stream.hang_up()


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": []},
        {"notifications": {"resourceSubscriptions": "x"}},
        {"notifications": {"resourceSubscriptions": [5]}},
        {"notifications": {"resourceSubscriptions": ["doorward://ledger"] * 101}},
    ],
)
async def test_listening_to_nothing_in_particular_is_refused(web: Web, params: dict[str, Any]):
    answer = await web.ask("subscriptions/listen", params)
    assert (answer.status, answer.error["code"]) == (400, -32602)


async def test_a_stream_that_ends_with_the_server_says_so(own_house: Callable[..., Any]):
    async with own_house() as house:
        stream = await listen(await house.web(), ALL)
        await event(stream)
        house.door.stop()
        last = await event(stream)
        assert last["id"] == 1
        assert last["result"]["resultType"] == "complete"
        assert last["result"]["_meta"][meta.SUBSCRIPTION] == 1
        assert await stream.event() is None


async def test_streams_are_limited_for_each_caller_and_in_all(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(streams=3, streams_each=2))) as house:
        one, two = await house.web(), await house.web()
        open_ = [await listen(one, ALL) for _ in range(2)]
        refused = await one.ask("subscriptions/listen", {"notifications": ALL})
        assert refused.error["code"] == 503
        assert "at most 2 per caller and 3 in total" in refused.error["message"]
        open_.append(await listen(two, ALL))
        assert (await two.ask("subscriptions/listen", {"notifications": ALL})).error["code"] == 503
        for stream in open_:
            await stream.hang_up()
        await (await listen(two, ALL)).hang_up()


async def test_a_silent_stream_says_now_and_then_that_it_is_there(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(keep_alive_seconds=0.01))) as house:
        stream = await listen(await house.web(), ALL)
        await event(stream)
        pieces = [(await stream._next())["body"] for _ in range(2)]
        assert pieces == [b":\r\n\r\n"] * 2
        await stream.hang_up()


async def test_nobody_hears_of_messages_in_a_room_that_they_may_not_read(own_house: Callable[..., Any]):
    async with own_house() as house:
        await house.owner("room/create", name="vault", recipe="workshop")
        web, uri = await house.web(rooms=["workshop"]), "doorward://rooms/vault/messages"
        first = await event(stream := await listen(web, {**ALL, "resourceSubscriptions": [uri]}))
        assert "resourceSubscriptions" not in first["params"]["notifications"]
        await stream.hang_up()
        await web.initialize()
        refused = await web.request("resources/subscribe", {"uri": uri})
        missing = await web.request("resources/subscribe", {"uri": "doorward://rooms/nowhere/messages"})
        assert refused.error["code"] == missing.error["code"] == -32002
        assert refused.error["message"] == missing.error["message"].replace("nowhere", "vault")
        read = await web.request("resources/read", {"uri": uri})
        assert read.error["code"] == -32002


async def test_who_may_not_read_a_resource_any_more_is_told_so_once(own_house: Callable[..., Any]):
    async with own_house() as house:
        web, uri = await house.web(), "doorward://rooms/workshop/messages"
        await web.initialize()
        await web.request("resources/subscribe", {"uri": uri})
        stream = await web.listen().begun()
        await forbid(house, "room/messages")
        assert {(await event(stream))["method"] for _ in range(2)} == {
            "notifications/tools/list_changed",
            "notifications/resources/list_changed",
        }
        await house.owner("room/say", text="not for you", name="workshop")
        word = await event(stream)
        assert word["method"] == "notifications/message"
        assert word["params"]["data"].startswith(f"The subscription to {uri} has ended: ")
        await house.owner("room/say", text="nor this", name="workshop")
        house.announce("prompts")
        assert (await event(stream))["method"] == "notifications/prompts/list_changed"
        await stream.hang_up()


async def revoke(house: McpHouse, name: str) -> None:
    (token,) = [one for one in house.services.tokens.of_tenant("local") if one.name == name]
    await house.owner("token/revoke", id=token.id)


async def test_a_revoked_token_hears_nothing_more(own_house: Callable[..., Any]):
    async with own_house() as house:
        web, uri = await house.web("brief"), "doorward://rooms/workshop/messages"
        await web.initialize()
        await web.request("resources/subscribe", {"uri": uri})
        streams = [await web.listen().begun(), await listen(web, {"resourceSubscriptions": [uri]})]
        await event(streams[1])
        await revoke(house, "brief")
        await house.owner("room/say", text="not for bot any more", name="workshop")
        word, last = [await event(stream) for stream in streams]
        assert "revoked" in word["params"]["data"]
        assert (last["id"], last["error"]["code"]) == (web._ids, 401)
        assert [await stream.event() for stream in streams] == [None, None]
        assert house.door.dispatcher.subscriptions._listeners == {}


async def test_a_silent_stream_ends_when_its_token_does_not_hold_any_more(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(keep_alive_seconds=0.01))) as house:
        web = await house.web("brief", days=1)
        await web.initialize()
        streams = [await web.listen().begun(), await listen(web, {"toolsListChanged": True})]
        await event(streams[1])
        house.clock.advance(86_401)
        word, last = [await event(stream) for stream in streams]
        assert "expired" in word["params"]["data"]
        assert last["error"]["data"]["code"] == "not_authenticated"
        assert [await stream.event() for stream in streams] == [None, None]


async def test_a_client_on_this_machine_goes_on_listening_when_a_server_ends(own_house: Callable[..., Any]):
    """Its relay carries it to whoever keeps the house next."""
    async with own_house() as house:
        told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

        async def send(frame: bytes) -> None:
            told.put_nowait(json.loads(frame))

        peer = house.door.make_peer(Credential(owner=True, speak_as="helper"), "workshop", None, send, "stdio")
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
        await house.door.receive(peer, json.dumps(body).encode())
        assert (await told.get())["id"] == 1
        house.door.stop()
        house.announce("tools")
        assert (await told.get())["method"] == "notifications/tools/list_changed"
        await house.door.close(peer)
