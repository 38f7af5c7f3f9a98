"""2025-11-25 and before, over HTTP: a handshake, a session that belongs to who opened it, and its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp_house import McpHouse
from mcp_web import BEFORE, Web

from doorward.config.settings import McpSettings, Settings
from doorward.core.classification import Access
from doorward.core.errors import Overloaded
from doorward.core.model import Caller, Credential
from doorward.doors.mcp.http_sessions import McpSessions
from doorward.doors.mcp.peer import Peer


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("tomorrow", "2025-11-25"),
    ],
)
async def test_the_handshake_agrees_on_a_version(web: Web, asked: str, spoken: str):
    result = (await web.initialize(asked)).result
    assert result["protocolVersion"] == spoken
    assert result["serverInfo"]["name"] == "doorward"
    assert "resultType" not in result
    assert (await web.request("ping")).result == {}


async def test_a_session_lists_and_calls(web: Web):
    await web.initialize()
    tools = (await web.request("tools/list")).result["tools"]
    assert "probe_echo" in {tool["name"] for tool in tools}
    answer = await web.request("tools/call", {"name": "probe_echo", "arguments": {"text": "hi"}})
    assert answer.headers["content-type"] == "application/json"
    assert answer.result["structuredContent"] == {"text": "hi"}
    assert "resultType" not in answer.result


async def test_without_a_session_only_the_handshake_is_taken(web: Web):
    answer = await web.request("tools/list")
    assert answer.status == 400
    assert "initialize" in answer.error["message"]


async def test_a_session_that_ended_is_not_there_any_more(web: Web):
    await web.initialize()
    ended = await web.whole(web.raw(b"", web.headers(**web.session), method="DELETE"))
    assert ended.status == 204
    answer = await web.request("ping")
    assert (answer.status, answer.last["id"]) == (404, 2)
    again = await web.whole(web.raw(b"", web.headers(**web.session), method="DELETE"))
    assert again.status == 404


async def test_a_session_does_not_exist_for_another_token_or_tenant(house: McpHouse):
    mine = await house.web("mine")
    await mine.initialize()
    for other in (await house.web("mine"), await house.web("other")):
        other.session = mine.session
        for exchange in (
            other.begin("tools/list"),
            other.begin("tools/call", {"name": "probe_echo", "arguments": {"text": "x"}}),
            other.tell("notifications/cancelled", {"requestId": 1}),
            other.answers("x", {}),
            other.listen(),
            other.raw(b"", other.headers(**other.session), method="DELETE"),
        ):
            answer = await other.whole(exchange)
            assert answer.status == 404
            assert "There is no such session" in answer.error["message"]
    unknown = await house.web("mine")
    unknown.session = {"mcp_session_id": "made-up", "mcp_protocol_version": BEFORE}
    assert (await unknown.request("ping")).error["message"] == answer.error["message"]
    assert (await mine.request("ping")).result == {}


async def test_a_session_ends_with_the_token_that_opened_it(house: McpHouse):
    web = await house.web("brief")
    await web.initialize()
    (token,) = [one for one in house.services.tokens.of_tenant("local") if one.name == "brief"]
    await house.owner("token/revoke", id=token.id)
    for method, params in (
        ("ping", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "probe_echo", "arguments": {"text": "x"}}),
    ):
        answer = await web.request(method, params)
        assert answer.status == 401, method
        assert "www-authenticate" in answer.headers


async def test_a_second_handshake_needs_a_session_of_its_own(web: Web):
    await web.initialize()
    first = web.session
    web.session = {}
    await web.initialize()
    assert web.session["mcp_session_id"] != first["mcp_session_id"]


async def test_sessions_are_bounded_and_the_longest_idle_makes_room(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(sessions=5, sessions_each=3))) as house:
        token = await house.token("one")
        clients = [Web(house.server.public, token, "/mcp/workshop") for _ in range(5)]
        for client in clients:
            await client.initialize()
        assert [(await client.request("ping")).status for client in clients] == [404, 404, 200, 200, 200]
        others = [await house.web() for _ in range(4)]
        for client in others:
            await client.initialize()
        assert [(await client.request("ping")).status for client in clients[2:]] == [404, 404, 200]
        assert [(await client.request("ping")).status for client in others] == [200] * 4


async def test_a_session_that_waits_for_news_is_not_idle(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(sessions=1))) as house:
        busy, late = await house.web(), await house.web()
        await busy.initialize()
        stream = await busy.listen().begun()
        refused = await late.initialize()
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        await stream.hang_up()
        assert (await late.initialize()).status == 200


async def test_an_idle_session_is_forgotten_in_time(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(session_seconds=600.0))) as house:
        web = await house.web()
        await web.initialize()
        house.clock.advance(599)
        assert (await web.request("ping")).status == 200
        house.clock.advance(599)
        assert (await web.request("ping")).status == 200
        house.clock.advance(600)
        assert (await web.request("ping")).status == 404


async def test_many_handshakes_leave_no_more_than_the_limit(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(sessions_each=10))) as house:
        web = await house.web()
        for _ in range(300):
            web.session = {}
            assert (await web.whole(web.begin("initialize", {"protocolVersion": BEFORE}))).status == 200
        listeners = house.door.dispatcher.subscriptions._listeners
        assert len(listeners) == 10


async def test_what_a_session_remembers_of_its_client_is_bounded(house: McpHouse):
    web = await house.web(capabilities={"experimental": {"x": "y" * 20_000}})
    assert (await web.initialize()).error["code"] == -32602
    web.capabilities = {}
    await web.initialize()
    long = await web.request("resources/subscribe", {"uri": f"doorward://files/{'x' * 2_000}"})
    assert long.error["code"] == -32602
    for number in range(100):
        await web.request("resources/subscribe", {"uri": f"doorward://files/{number}"})
    assert (await web.request("resources/subscribe", {"uri": "doorward://files/more"})).error["code"] == -32602
    assert (await web.request("resources/subscribe", {"uri": "doorward://files/7"})).result == {}


async def test_a_request_is_cancelled_by_its_id_and_gets_no_answer(house: McpHouse, web: Web):
    await web.initialize()
    hanging = web.begin("tools/call", {"name": "probe_hang", "_meta": {"progressToken": "p"}})
    await hanging.begun()
    assert (await hanging.event())["params"]["message"] == "it hangs"  # type: ignore[index]
    cancelled = await web.whole(web.tell("notifications/cancelled", {"requestId": 2, "reason": "enough"}))
    assert cancelled.status == 202
    assert await hanging.events() == []
    *_, row = await house.ledger("probe/hang")
    assert (row["status"], row["code"]) == ("failed", "cancelled")
    assert (await web.request("ping")).result == {}


async def test_cancelling_what_is_not_there_does_nothing(web: Web):
    await web.initialize()
    for id in (77, "x", None, [1], {}):
        assert (await web.whole(web.tell("notifications/cancelled", {"requestId": id}))).status == 202
    assert (await web.request("ping")).result == {}


async def test_two_requests_with_one_id_at_once_are_not_taken(web: Web):
    await web.initialize()
    hanging = await web.begin("tools/call", {"name": "probe_hang", "_meta": {"progressToken": 1}}).begun()
    web._ids = 1
    answer = await web.request("ping")
    assert answer.error["code"] == -32600
    await hanging.hang_up()


async def test_a_client_that_asks_for_messages_gets_what_programs_write(web: Web):
    await web.initialize()
    assert (await web.request("logging/setLevel", {"level": "info"})).result == {}
    answer = await web.request("tools/call", {"name": "probe_talk", "arguments": {"lines": 3}})
    messages = [one["params"] for one in answer.messages if one.get("method") == "notifications/message"]
    assert {one["level"] for one in messages} == {"info"}
    assert "".join(one["data"] for one in messages) == "line 0\nline 1\nline 2\n"
    assert (await web.request("logging/setLevel", {"level": "error"})).result == {}
    quiet = await web.request("tools/call", {"name": "probe_talk", "arguments": {"lines": 2}})
    assert len(quiet.messages) == 1
    wrong = await web.request("logging/setLevel", {"level": "loud"})
    assert wrong.error["code"] == -32602


async def test_a_client_may_have_several_streams_and_each_message_comes_once(house: McpHouse, web: Web):
    await web.initialize()
    streams = [await web.listen().begun() for _ in range(2)]
    assert {stream.headers["x-accel-buffering"] for stream in streams} == {"no"}
    house.announce("tools")
    waiting = [asyncio.create_task(stream.event()) for stream in streams]
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result() for task in done] == [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]
    assert len(pending) == 1
    for stream in streams:
        await stream.hang_up()
    await asyncio.gather(*pending)


async def test_news_wait_for_a_client_that_is_not_listening_and_do_not_pile_up(house: McpHouse, web: Web):
    await web.initialize()
    for _ in range(1_000):
        house.announce("tools")
        house.announce("prompts")
    stream = await web.listen().begun()
    methods = {(await stream.event())["method"] for _ in range(2)}  # type: ignore[index]
    assert methods == {"notifications/tools/list_changed", "notifications/prompts/list_changed"}
    await stream.hang_up()


async def test_other_methods_of_http_are_not_taken(web: Web):
    await web.initialize()
    for method in ("PUT", "PATCH", "OPTIONS", "HEAD"):
        answer = await web.whole(web.raw(b"", web.headers(**web.session), method=method))
        assert (answer.status, answer.headers["allow"]) == (405, "POST, GET, DELETE"), method
    bare = Web(web.app, web.token, web.path)
    for method in ("GET", "DELETE"):
        assert (await bare.whole(bare.raw(b"", bare.headers(), method=method))).status == 405
    refused = web.headers(**web.session) | {"accept": "application/json"}
    assert (await web.whole(web.raw(b"", refused, method="GET"))).status == 406


async def test_a_room_that_is_not_there_for_the_caller_is_said_at_once(house: McpHouse):
    for room in ("nowhere", "general"):
        web = await house.web(room=room, rooms=["workshop"])
        answer = await web.initialize()
        assert answer.error["code"] == -32602
        assert f"There is no room '{room}' that you may act in" in answer.error["message"]
        assert "mcp-session-id" not in answer.headers
        assert "that you may act in" in (await web.ask("server/discover")).error["message"]


async def test_the_default_room_is_that_of_the_settings(house: McpHouse):
    web = Web(house.server.public, await house.token(), "/mcp")
    assert "'general'" in (await web.initialize()).result["instructions"]


async def test_a_frame_of_this_era_may_leave_out_its_params(web: Web):
    await web.initialize()
    body = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/list"}).encode()
    assert (await web.whole(web.raw(body, web.headers(**web.session)))).result["tools"]


async def test_no_session_vanishes_unseen_when_another_is_refused(clock: Any):
    """Whoever is dropped must be reported, or its listener stays among the subscriptions for ever."""
    sessions = McpSessions(McpSettings(sessions_each=1, session_seconds=10.0), clock)
    mine, other = (Caller("local", name, "ai", Access.EDIT) for name in ("mine", "other"))
    idle, _ = sessions.add(a_peer("other"), other)
    clock.advance(60.0)
    busy, gone = sessions.add(a_peer("mine"), mine)
    assert gone == [idle]
    sessions.add(a_peer("other"), other)
    clock.advance(60.0)
    busy.streams = 1
    there = len(sessions)
    with pytest.raises(Overloaded):
        sessions.add(a_peer("mine"), mine)
    assert len(sessions) == there


async def test_what_expires_makes_room_without_anybody_else_losing_theirs(clock: Any):
    sessions = McpSessions(McpSettings(sessions=3, sessions_each=2, session_seconds=10.0), clock)
    mine, other = (Caller("local", name, "ai", Access.EDIT) for name in ("mine", "other"))
    old = [sessions.add(a_peer("mine"), mine)[0]]
    clock.advance(60.0)
    young = [sessions.add(a_peer(name), who)[0] for name, who in (("other", other), ("mine", mine))]
    assert len(sessions) == 2
    _, gone = sessions.add(a_peer("mine"), mine)
    assert (gone, len(sessions)) == ([], 3)
    _, gone = sessions.add(a_peer("mine"), mine)
    assert gone == [young[1]], "of the two limits each takes its own, and one that goes counts for both"
    assert old[0] not in gone


async def test_true_is_no_id_of_a_request():
    peer = a_peer("mine")
    peer.running[1] = asyncio.ensure_future(asyncio.Event().wait())
    peer.cancel(True)
    assert peer.stopping == set()
    peer.cancel(1)
    assert peer.stopping == {1}
    await asyncio.wait(peer.running.values())


async def test_a_second_request_with_the_same_id_does_not_undo_a_cancellation(web: Web):
    await web.initialize()
    hanging = await web.begin("tools/call", {"name": "probe_hang", "_meta": {"progressToken": 1}}).begun()
    cancelling = web.tell("notifications/cancelled", {"requestId": 2})
    web._ids = 1
    second = web.begin("ping")
    assert (await web.whole(cancelling)).status == 202
    await web.whole(second)
    await hanging.events()
    await hanging.task  # which ends by itself, and is not cut


def a_peer(token: str) -> Peer:
    async def send(frame: bytes) -> None:
        pass

    return Peer(Credential(token=token), "yard", None, send, "http", "all")
