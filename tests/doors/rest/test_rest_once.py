"""Idempotency keys: the same request with the same key runs once, and is answered the same twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from doorward.config.settings import LimitSettings, Settings
from doorward.store.sqlite import Statement

KEY = {"Idempotency-Key": "key-1"}
ROOM = {"name": "lab", "recipe": "admin"}


async def starts(rest: Any, command: str) -> int:
    return len([row for row in await rest.driver.ledger() if row["command"] == command and row["phase"] == "start"])


@pytest.mark.parametrize(
    ("path", "body"), [("/api/rooms", ROOM), ("/api/run", {"command": "room/create", "params": ROOM})]
)
async def test_the_same_key_gives_the_first_answer_again_and_runs_nothing(rest: Any, path: str, body: Any) -> None:
    person = await rest.person()
    first = await person.post(path, json=body, headers=KEY)
    again = await person.post(path, json=body, headers=KEY)
    other = await person.post(path, json=body, headers={"Idempotency-Key": "key-2"})
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert again.headers["doorward-call"] == first.headers["doorward-call"]
    assert other.status_code == 409
    assert await starts(rest, "room/create") == 2


async def test_the_same_key_for_another_request_is_refused(rest: Any) -> None:
    person = await rest.person()
    await person.post("/api/rooms", json=ROOM, headers=KEY)
    body = await person.post("/api/rooms", json={**ROOM, "name": "den"}, headers=KEY)
    path = await person.post("/api/rooms/lab/archive", headers=KEY)
    query = await person.post("/api/rooms?room=general", json=ROOM, headers=KEY)
    assert {one.json()["code"] for one in (body, path, query)} == {"key_reused"}
    assert body.status_code == 422
    assert await starts(rest, "room/create") == 1


async def test_a_key_belongs_to_one_caller(rest: Any) -> None:
    anna, owner = await rest.tenant(), await rest.person()
    mine = await owner.post("/api/rooms", json=ROOM, headers=KEY)
    hers = await anna.post("/api/rooms", json=ROOM, headers=KEY)
    assert (mine.json()["members"], hers.json()["members"]) == ({"owner": "owner"}, {"anna": "owner"})
    assert "idempotency-replayed" not in hers.headers


async def test_what_failed_is_given_again_and_what_was_refused_may_be_tried_again(rest: Any) -> None:
    person = await rest.person()
    await rest.driver.owner("room/create", **ROOM)
    failed = [await person.post("/api/rooms", json=ROOM, headers=KEY) for _ in range(2)]
    agent = await rest.agent()
    body = {"text": "hello"}
    refused = await agent.post("/api/rooms/general/messages", json=body, headers=KEY)
    await rest.driver.owner("room/recipe", name="general", recipe="admin")
    spoken = await agent.post("/api/rooms/general/messages?room=general", json=body, headers={"Idempotency-Key": "k"})
    refused_again = await agent.post("/api/rooms/general/messages", json=body, headers=KEY)
    assert [one.status_code for one in failed] == [409, 409]
    assert failed[1].content == failed[0].content
    assert failed[1].headers["content-type"] == "application/problem+json"
    assert [refused.status_code, spoken.status_code, refused_again.status_code] == [403, 201, 403]
    assert "idempotency-replayed" not in refused_again.headers


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/tokens", {"name": "bot"}),
        ("/api/invitations", {}),
        ("/api/run", {"command": "token/create", "params": {"name": "bot"}}),
        ("/api/commands/user_invite/run", {}),
    ],
)
async def test_an_answer_that_holds_a_secret_is_not_kept_and_says_so(rest: Any, path: str, body: Any) -> None:
    person = await rest.person()
    first = await person.post(path, json=body, headers=KEY)
    again = await person.post(path, json=body, headers=KEY)
    rows = await rest.driver.house.services.store.read("SELECT * FROM answers")
    assert first.status_code in (200, 201)
    assert (again.status_code, again.json()["code"]) == (409, "not_kept")
    assert again.json()["call"] == first.headers["doorward-call"]
    assert [row["body"] for row in rows] == [None]


async def test_a_long_answer_is_not_kept(rest: Any) -> None:
    person = await rest.person()
    for _ in range(3):
        await rest.driver.owner("room/say", name="general", text="x" * 90_000)
    body = {"command": "room/messages", "params": {"name": "general"}}
    first = await person.post("/api/run", json=body, headers=KEY)
    again = await person.post("/api/run", json=body, headers=KEY)
    assert (first.status_code, again.json()["code"]) == (200, "not_kept")


async def test_of_many_at_once_with_one_key_one_runs(rest: Any) -> None:
    person = await rest.person()
    answers = await asyncio.gather(*(person.post("/api/rooms", json=ROOM, headers=KEY) for _ in range(8)))
    codes = [answer.json().get("code", "") for answer in answers]
    assert codes.count("") >= 1
    assert set(codes) <= {"", "key_in_use"}
    assert await starts(rest, "room/create") == 1


async def test_a_request_whose_process_died_does_not_run_again(rest: Any) -> None:
    person = await rest.person()
    await person.post("/api/rooms", json=ROOM, headers=KEY)
    await rest.driver.house.services.store.write(Statement("UPDATE answers SET status = NULL, body = NULL, call = ''"))
    again = await person.post("/api/rooms", json=ROOM, headers=KEY)
    assert (again.status_code, again.json()["code"]) == (409, "not_kept")
    assert await starts(rest, "room/create") == 1


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("path", ["/api/rooms/general/messages", "/api/commands/room_say/run"])
async def test_a_message_whose_process_died_is_sent_again_with_its_key_and_is_there_once(
    rest: Any, path: str, stored: bool
) -> None:
    person = await rest.person()
    body = {"text": "hello"} | ({"name": "general"} if path.endswith("run") else {})
    first = await person.post(path, json=body, headers=KEY)
    died = [Statement("UPDATE answers SET status = NULL, body = NULL, call = ''")]
    if not stored:
        died.append(Statement("DELETE FROM messages"))
    await rest.driver.house.services.store.write(*died)
    again = await person.post(path, json=body, headers=KEY)
    kept = await person.post(path, json=body, headers=KEY)
    assert again.status_code == first.status_code
    assert (kept.content, kept.headers["idempotency-replayed"]) == (again.content, "true")
    found = (await person.get("/api/rooms/general/messages")).json()["items"]
    assert [one["text"] for one in found] == ["hello"]


@pytest.mark.parametrize(("hours", "seconds"), [(24.0, 86_400), (100.0, 86_400), (1.0, 3_600)])
async def test_a_key_is_remembered_for_a_day_and_no_longer_than_results_are(
    opened: Callable[..., Any], rest_of: Callable[..., Any], clock: Any, hours: float, seconds: float
) -> None:
    async with opened(changes=Settings(limits=LimitSettings(result_hours=hours))) as driver, rest_of(driver) as rest:
        person = await rest.person()
        first = await person.post("/api/rooms", json=ROOM, headers=KEY)
        clock.advance(seconds - 1)
        again = await person.post("/api/rooms", json=ROOM, headers=KEY)
        clock.advance(2)
        later = await person.post("/api/rooms", json=ROOM, headers=KEY)
        assert again.json() == first.json() != later.json()
        assert "idempotency-replayed" not in later.headers


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 201, "é"])
async def test_a_key_that_is_none_is_refused(rest: Any, key: str) -> None:
    person = await rest.person()
    answer = await person.post("/api/rooms", json=ROOM, headers=[("Idempotency-Key", key.encode("latin-1"))])
    two = await person.post("/api/rooms", json=ROOM, headers=[("Idempotency-Key", "a"), ("Idempotency-Key", "b")])
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_params")
    assert two.status_code == 400


async def test_one_caller_keeps_a_bounded_number_of_answers(rest: Any) -> None:
    person = await rest.person()
    fill = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) "
        "INSERT INTO answers SELECT caller, 'filler ' || i, asked, at - i, call, status, body FROM n, answers"
    )
    await person.post("/api/rooms", json=ROOM, headers=KEY)
    await rest.driver.house.services.store.write(Statement(fill))
    await person.post("/api/rooms/lab/archive", headers={"Idempotency-Key": "key-3"})
    (kept,) = await rest.driver.house.services.store.read("SELECT count(*) AS n FROM answers")
    replayed = await person.post("/api/rooms", json=ROOM, headers=KEY)
    assert kept["n"] == 1_000
    assert replayed.headers["idempotency-replayed"] == "true"


LAX = {
    "recipeId": "lax",
    "displayName": "Lax",
    "strategy": {"aiCommands": {"enabled": True, "whitelist": ["*"], "requireApproval": {"room/say": True}}},
}
READ = {"command": "room/messages", "room": "vault", "params": {"name": "vault"}}


@pytest.fixture
async def vault(rest: Any) -> Any:
    """The REST door of a house with a room in which something was said."""
    await rest.driver.owner("recipe/put", id="lax", text=json.dumps(LAX))
    for room in ("vault", "yard"):
        await rest.driver.owner("room/create", name=room, recipe="lax")
    await rest.driver.owner("room/say", name="vault", text="a secret")
    return rest


async def test_a_kept_answer_of_one_room_is_not_given_to_a_token_for_another(vault: Any) -> None:
    """The two tokens are of one agent, but the second may not act in the vault."""
    wide, narrow = await vault.agent("bot"), await vault.agent("bot", rooms=["yard"])
    given = await wide.post("/api/run", json=READ, headers=KEY)
    refused = await narrow.post("/api/run", json=READ, headers=KEY)
    assert "a secret" in given.text
    assert (refused.status_code, "a secret" in refused.text) == (403, False)


async def test_a_kept_answer_is_not_given_by_a_token_that_reaches_less_far(vault: Any) -> None:
    strong, weak = await vault.person(access="root"), await vault.person(access="read")
    await strong.post("/api/rooms", json=ROOM, headers=KEY)
    again = await weak.post("/api/rooms", json=ROOM, headers=KEY)
    assert (again.status_code, again.json()["code"]) == (403, "not_permitted")


async def test_a_kept_answer_is_not_given_to_who_may_not_ask_any_more(vault: Any) -> None:
    bot = await vault.agent("bot")
    first = await bot.post("/api/run", json=READ, headers=KEY)
    room = vault.driver.house.services.rooms.require("local", "vault")
    archived = await vault.driver.house.services.rooms.change(msgspec.structs.replace(room, archived=True))
    refused = await bot.post("/api/run", json=READ, headers=KEY)
    await vault.driver.house.services.rooms.change(msgspec.structs.replace(archived, archived=False))
    again = await bot.post("/api/run", json=READ, headers=KEY)
    assert (refused.status_code, refused.json()["rule"]) == (403, "room vault: archived")
    assert "a secret" not in refused.text
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    rows = [row["status"] for row in await vault.driver.ledger() if row["command"] == READ["command"]]
    assert rows == ["done", "refused"], "and what is given again leaves no record of its own"


async def test_the_answer_to_a_ticket_is_given_again(vault: Any) -> None:
    bot = await vault.agent("bot")
    ask = {"command": "room/say", "room": "vault", "params": {"name": "vault", "text": "hello"}}
    parked = (await bot.post("/api/run", json=ask)).json()
    await vault.driver.owner("approval/approve", id=parked["ticket"])
    first, again = [await bot.post("/api/run", json={"ticket": parked["ticket"]}, headers=KEY) for _ in range(2)]
    assert first.status_code == 200, first.text
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    await vault.driver.owner("room/archive", name="vault")
    refused = await bot.post("/api/run", json={"ticket": parked["ticket"]}, headers=KEY)
    assert refused.status_code == 403
    assert await starts(vault, "room/say") == 2, "the owner's, and this one once"


async def test_a_ticket_is_given_again_only_while_it_can_lead_to_something(rest: Any, clock: Any) -> None:
    agent = await rest.agent()
    body = {"command": "file/write", "room": "general", "params": {"path": "a.txt", "content": "x"}}
    first = await agent.post("/api/run", json=body, headers=KEY)
    again = await agent.post("/api/run", json=body, headers=KEY)
    clock.advance(31)
    later = await agent.post("/api/run", json=body, headers=KEY)
    assert [one.status_code for one in (first, again, later)] == [202, 202, 202]
    assert first.json()["ticket"] == again.json()["ticket"] != later.json()["ticket"]
