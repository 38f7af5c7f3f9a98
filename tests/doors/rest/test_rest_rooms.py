"""Rooms over REST: a stream that misses nothing and repeats nothing, files as bytes, and messages posted once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from room_follower import Follower, following

from doorward.doors.rest import rooms

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


async def said(rest: Any, *texts: str) -> list[str]:
    services = rest.driver.house.services
    room = services.rooms.require("local", "general")
    return [(await services.messages.post(room, "owner", "human", text)).id for text in texts]


@contextlib.asynccontextmanager
async def crowd(rest: Any, client: Any, many: int) -> AsyncIterator[list[Follower]]:
    """So many followers of the room, all of whom are ready."""
    async with contextlib.AsyncExitStack() as stack:
        followers = [await stack.enter_async_context(following(rest, client)) for _ in range(many)]
        for one in followers:
            await one.until("ready")
        yield followers


async def test_everybody_who_follows_a_room_hears_each_message_and_change_in_order(rest: Any) -> None:
    person, agent = await rest.person(), await rest.agent(access="full")
    async with following(rest, person) as one, following(rest, agent) as other:
        await one.until("ready")
        await other.until("ready")
        posted = await person.post("/api/rooms/general/messages", json={"text": "hello"})
        id = posted.json()["message"]
        await person.patch(f"/api/rooms/general/messages/{id}", json={"text": "hello there"})
        await person.delete(f"/api/rooms/general/messages/{id}")
        for follower in (one, other):
            heard = await follower.until("message", 3)
            assert [(data["id"], data["text"]) for data in heard] == [(id, "hello"), (id, "hello there"), (id, "")]
            assert [id for event, id, _ in follower.events if event == "message"] == ["1", "2", "3"]
    shown = (await person.get("/api/rooms/general/messages")).json()
    assert shown["items"] == [heard[2]]


async def test_whoever_comes_again_is_told_exactly_what_is_behind_even_after_a_restart(
    opened: Any, rest_of: Any
) -> None:
    async with opened() as driver, rest_of(driver) as rest:
        person = await rest.person()
        async with following(rest, person) as follower:
            await follower.until("ready")
            ids = await said(rest, "one", "two", "three")
            await follower.until("message", 2)
        await driver.owner("room/edit", name="general", message=ids[0], text="uno")
    async with opened() as driver, rest_of(driver) as rest:
        person = rest.client(person.headers["authorization"].split()[1])
        async with following(rest, person, since="2") as follower:
            await said(rest, "four")
            heard = await follower.until("message", 3)
            assert [(data["text"], data["revision"]) for data in heard] == [("three", 3), ("uno", 4), ("four", 5)]
        async with following(rest, person, since="99") as follower:
            (ready,) = await follower.until("ready")
            assert (ready["whole"], ready["revision"], follower.texts) == (False, 5, [])


async def test_what_comes_while_a_follower_catches_up_is_neither_lost_nor_told_twice(
    rest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms, "_PAGE", 3)
    person = await rest.person()
    await said(rest, *(f"{n}" for n in range(10)))
    async with following(rest, person, since="1") as follower:
        follower.held.clear()
        await follower.until("ready")
        await said(rest, *(f"{n}" for n in range(10, 15)))
        follower.held.set()
        await follower.until("message", 14)
        await said(rest, "last")
        await follower.until("message", 15)
        assert follower.texts == [*(f"{n}" for n in range(1, 15)), "last"]


async def test_a_follower_that_reads_too_slowly_is_cut_off_and_goes_on_where_it_was(
    rest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms, "_MOST_WAITING", 5)
    person = await rest.person()
    async with following(rest, person) as slow:
        await slow.until("ready")
        slow.held.clear()
        await said(rest, *(f"{n}" for n in range(20)))
        slow.held.set()
        await slow.until("end")
        await slow.ended.wait()
        last = [id for _, id, _ in slow.events if id][-1]
    async with following(rest, person, since=last) as again:
        await again.until("message", 20 - len(slow.texts))
        assert [*slow.texts, *again.texts] == [f"{n}" for n in range(20)]


async def test_fifty_followers_cost_one_encoding_of_each_message(rest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    person, written = await rest.person(), []
    shown = rooms.describe_message
    monkeypatch.setattr(rooms, "describe_message", lambda message: written.append(message.id) or shown(message))
    reads = []
    store = rest.driver.house.services.store
    read = store.read
    async with crowd(rest, person, 50) as followers:
        monkeypatch.setattr(store, "read", lambda *given: reads.append(given) or read(*given))
        ids = await said(rest, "to all")
        for one in followers:
            await one.until("message")
    assert (written, reads) == (ids, [])


async def test_whoever_is_taken_out_or_whose_token_is_revoked_hears_nothing_more(rest: Any) -> None:
    driver = rest.driver
    await driver.owner("user/create", id="anna", access="edit")
    await driver.owner("room/join", name="general", member="anna")
    anna = await rest.person(user="anna", access="edit")
    agent = await rest.agent("robot", access="full")
    async with following(rest, anna) as out, following(rest, agent) as revoked:
        await out.until("ready")
        await revoked.until("ready")
        await driver.owner("room/leave", name="general", member="anna")
        tokens = (await driver.owner("token/list")).result["items"]
        (id,) = [one["id"] for one in tokens if one["name"] == "robot"]
        await driver.owner("token/revoke", id=id)
        await said(rest, "among us")
        for follower in (out, revoked):
            await follower.ended.wait()
            assert (follower.texts, [event for event, _, _ in follower.events][-1]) == ([], "error")
    async with following(rest, anna) as stranger:
        await stranger.ended.wait()
        assert stranger.status == 404


async def test_typing_presence_drafts_and_thinking_are_told_and_kept_nowhere(rest: Any) -> None:
    person, services = await rest.person(), rest.driver.house.services
    general = services.rooms.require("local", "general")
    services.live.publish_thinking(general, "guide", "thinking")
    services.live.publish_draft(general, "d1", "guide", "The pump")
    before = len(await rest.driver.ledger())
    async with following(rest, person) as follower:
        (ready,) = await follower.until("ready")
        assert ready["here"] == ["owner"]
        await follower.until("draft")
        asked = len(await rest.driver.ledger())
        typed = await person.post("/api/rooms/general/typing", json={})
        assert (await person.post("/api/rooms/general/typing", json={"x": 1})).status_code == 400
        await follower.until("typing")
        async with following(rest, await rest.agent(access="full")) as other:
            await other.until("ready")
        await follower.until("presence", 2)
        services.live.publish_draft(general, "d1", "guide", "The pump is fine.", done=True)
        services.live.publish_thinking(general, "guide", "idle")
        await follower.until("thinking", 2)
        told = [(event, id, data) for event, id, data in follower.events if event not in ("ready", "presence")]
    assert told == [
        ("thinking", "", {"persona": "guide", "state": "thinking"}),
        ("draft", "", {"id": "d1", "sender": "guide", "text": "The pump", "done": False}),
        ("typing", "", {"member": "owner"}),
        ("draft", "", {"id": "d1", "sender": "guide", "text": "The pump is fine.", "done": True}),
        ("thinking", "", {"persona": "guide", "state": "idle"}),
    ]
    records = [one["command"] for one in (await rest.driver.ledger())[before:]]
    assert (typed.status_code, asked > before, "room/say" in records) == (200, True, False)
    assert services.presence.present_members("local", "general") == set()


async def test_streams_and_typing_are_closed_to_strangers_other_tenants_and_nonsense(rest: Any) -> None:
    rival, person = await rest.tenant(), await rest.person()
    for path in ("stream", "typing", "attachments", "attachments/x"):
        method = "POST" if path in ("typing", "attachments") else "GET"
        body = {"content": b"x"} if path == "attachments" else {}
        answer = await rival.request(method, f"/api/rooms/general/{path}", **body)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
        nobody = await rest.open.request(method, f"/api/rooms/general/{path}", **body)
        assert nobody.status_code == 401
    odd = await person.get("/api/rooms/general/stream", params={"since": "yesterday"})
    assert (odd.status_code, "a revision of the room" in odd.json()["detail"]) == (400, True)


async def test_a_file_goes_up_and_down_as_bytes_and_no_browser_runs_it(rest: Any) -> None:
    person = await rest.person()
    page = b"<script>alert(1)</script>"
    for content, name, media, way in (
        (PNG, "pump.png", "image/png", "inline"),
        (page, "../x\r\nSet-Cookie: a=b.png", "text/plain; charset=utf-8", "attachment"),
    ):
        up = await person.post(
            "/api/rooms/general/attachments",
            params={"file": name},
            content=content,
            headers={"content-type": "image/png"},
        )
        file = up.json()
        await person.post("/api/rooms/general/messages", json={"text": "see", "attachments": [file["id"]]})
        down = await person.get(f"/api/rooms/general/attachments/{file['id']}")
        assert (up.status_code, down.content, down.headers["content-type"]) == (201, content, media)
        assert down.headers["content-disposition"].startswith(f"{way}; filename*=UTF-8''")
        assert (down.headers["content-security-policy"], down.headers["x-content-type-options"]) == (
            "sandbox; default-src 'none'",
            "nosniff",
        )
        assert "set-cookie" not in down.headers
    large = await person.post("/api/rooms/general/attachments", content=bytes(5_000_001))
    assert large.status_code == 413


async def test_a_message_posted_twice_with_one_key_is_said_once(rest: Any) -> None:
    person = await rest.person()
    keyed = {"Idempotency-Key": "k1"}
    answers = [await person.post("/api/rooms/general/messages", json={"text": "once"}, headers=keyed) for _ in range(3)]
    shown = (await person.get("/api/rooms/general/messages")).json()["items"]
    assert ([one.status_code for one in answers], len(shown)) == ([201] * 3, 1)
    assert len({one.text for one in answers}) == 1


async def test_an_agent_takes_part_over_rest(rest: Any) -> None:
    driver = rest.driver
    await driver.owner("room/create", name="lab", recipe="admin")
    await driver.owner("room/join", name="lab", member="robot", kind="ai")
    robot = await rest.agent("robot", access="full", rooms=["lab"])
    person = await rest.person()
    waiting = asyncio.ensure_future(robot.get("/api/rooms/lab/wait", params={"seconds": 50, "after": 0}))
    await person.post("/api/rooms/lab/messages", json={"text": "robot?"})
    heard = (await waiting).json()
    assert [one["text"] for one in heard["items"]] == ["robot?"]
    answer = await robot.post("/api/rooms/lab/messages", json={"text": "yes", "replyTo": heard["items"][0]["id"]})
    found = (await person.get("/api/messages", params={"words": "yes"})).json()["items"]
    assert (answer.status_code, [(one["sender"], one["kind"]) for one in found]) == (201, [("robot", "ai")])
    direct = await person.put("/api/direct/robot", json={})
    assert (direct.status_code, direct.json()["direct"]) == (200, True)
