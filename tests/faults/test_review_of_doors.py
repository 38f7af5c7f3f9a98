"""What a review of the new doors found: each test says what should hold, and fails for as long as it does not."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from doorward.command import Example, Family, Foreseen, NoUndo
from doorward.doors.http import Server
from doorward.doors.line.door import Door
from doorward.doors.mcp.door import McpDoor
from doorward.doors.mcp.sessions import Sessions
from doorward.errors import DoorwardError, NotAuthenticated, Overloaded, TooFast
from doorward.facts import Access, Effects, Safety, Tier
from doorward.home import Home
from doorward.model import Caller, Credential
from doorward.rooms.accounts import Attempt
from doorward.rooms.attempts import ACCOUNT, ADDRESS, PAIR, Attempts
from doorward.settings import Mcp

RECIPE = {
    "recipeId": "lax",
    "displayName": "Lax",
    "description": "All is allowed.",
    "strategy": {"aiCommands": {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 10_000}},
}
OLD, NEW = "four words make one", "five other words make two"


@pytest.fixture
async def house(home: Home, opened: Any) -> Any:
    home.make()
    (home.recipes / "lax.json").write_text(json.dumps(RECIPE))
    async with opened() as driver:
        for room in ("yard", "vault"):
            await driver.owner("room/create", name=room, recipe="lax")
        yield driver


def client(driver: Any, token: str) -> httpx2.AsyncClient:
    app = Server(driver.house.gate, driver.house.services).public
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 4_000))
    return httpx2.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {token}"}
    )


# Credentials that grant more than they hold.


@pytest.mark.parametrize("narrow", [{"access": "full"}, {"access": "root", "rooms": ["yard"]}])
async def test_a_token_makes_no_token_that_reaches_further_than_itself(house: Any, narrow: dict[str, Any]) -> None:
    token = await house.token("laptop", kind="human", **narrow)
    room = "yard" if "rooms" in narrow else ""
    params = {"name": "more", "kind": "human", "access": "root", "days": 366}
    made = await house.ask("token/create", token=token, room=room, params=params)
    if made.status == "done":
        got = house.house.gate.caller(Credential(token=made.result["token"]))
        pytest.fail(f"a token with {narrow} made one with {got.access.label} access to rooms {got.rooms or 'all'}")


async def test_a_token_for_one_room_decides_nothing_in_another(house: Any, home: Home) -> None:
    strict = json.loads(json.dumps(RECIPE)) | {"recipeId": "strict"}
    strict["strategy"]["aiCommands"]["requireApproval"] = {"data/create": True}
    await house.owner("recipe/put", id="strict", text=json.dumps(strict))
    await house.owner("room/create", name="safe", recipe="strict")
    asked = await house.ask("data/create", room="safe", params={"collection": "notes", "data": {"a": 1}})
    assert asked.status == "parked", asked
    token = await house.token("laptop", kind="human", access="root", rooms=["yard"])
    listed = await house.ask("approval/list", token=token, room="yard", params={})
    said = await house.ask("approval/approve", token=token, room="yard", params={"id": asked.ticket})
    assert said.status != "done", said
    assert asked.ticket not in listed.text


async def test_an_agent_does_not_put_its_own_room_under_a_recipe_that_asks_nobody(house: Any) -> None:
    """The agent of `doorward mcp` and of the line door speaks with the owner's access, which is root."""
    strict = json.loads(json.dumps(RECIPE)) | {"recipeId": "strict"}
    strict["strategy"]["aiCommands"]["requireApproval"] = {"file/write": True}
    await house.owner("recipe/put", id="strict", text=json.dumps(strict))
    await house.owner("room/create", name="safe", recipe="strict")
    write = {"path": "a.txt", "content": "x"}
    assert (await house.ask("file/write", room="safe", params=write)).status == "parked"
    await house.ask("room/recipe", room="safe", params={"name": "safe", "recipe": "lax"})
    assert (await house.ask("file/write", room="safe", params=write)).status == "parked"


@pytest.mark.parametrize(
    ("command", "params"), [("room/archive", {}), ("room/say", {"text": "x"}), ("room/recipe", {"recipe": "admin"})]
)
@pytest.mark.parametrize("kind", ["ai", "human"])
async def test_a_token_for_one_room_changes_nothing_in_another(
    house: Any, kind: str, command: str, params: dict[str, Any]
) -> None:
    token = await house.token("laptop", kind=kind, access="root", rooms=["yard"])
    said = await house.ask(command, token=token, room="yard", params={"name": "vault", **params})
    assert said.status != "done", said


# The line door.


class Wire:
    """A transport that counts, in the place of one whose client sends much and reads nothing."""

    def __init__(self) -> None:
        self.closing = False
        self.reading = True
        self.waits = 0

    def get_extra_info(self, name: str) -> Any:
        return {"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 6)}.get(name)

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def get_write_buffer_size(self) -> int:
        return self.waits

    def is_closing(self) -> bool:
        return self.closing

    def write(self, data: bytes) -> None:
        self.waits += len(data)

    def close(self) -> None:
        self.closing = True

    abort = close


async def test_one_piece_of_requests_for_the_list_makes_no_heap_of_answers(house: Any) -> None:
    """8,456 of them fit into the 256 KiB that asyncio reads at once: 1.2 GB of answers, and 6 s in which nobody else
    is served."""
    services = house.house.services
    token = await house.token("bot", rooms=["yard"], kind="service")
    connection = Door(house.house.gate, services).connection()
    wire = Wire()
    connection.connection_made(wire)  # type: ignore[arg-type]
    await asyncio.gather(*connection._tasks)
    hello = {"id": 0, "method": "initialize", "token": token, "room": "yard"}
    connection.data_received(json.dumps(hello).encode() + b"\n")
    connection.data_received(b'{"id":1,"method":"list_tools"}\n' * 200)
    heap = wire.waits + sum(map(len, connection._out))
    wire.closing = True
    connection.connection_lost(None)
    assert heap <= services.settings.line.unread_bytes * 2, f"{heap:,} bytes wait for one client"


# MCP over HTTP.


@pytest.mark.parametrize("room", ["a\r\nx-evil: 1", "\u4e2d", 'a", error="x'])
async def test_a_strange_room_in_the_address_gets_a_clean_challenge(house: Any, room: str) -> None:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": f"/mcp/{room}", "query_string": b""}
    scope |= {"scheme": "http", "root_path": "", "headers": [(b"host", b"127.0.0.1")], "client": ("127.0.0.1", 1)}
    try:
        await Server(house.house.gate, house.house.services).public(scope, receive, send)
    except UnicodeEncodeError as error:
        pytest.fail(f"the challenge broke: {error}")
    assert sent[0]["status"] == 401
    challenge = dict(sent[0]["headers"])[b"www-authenticate"]
    assert b"\r" not in challenge
    assert b"\n" not in challenge
    assert challenge.count(b'"') == 2


async def test_no_session_vanishes_unseen_when_another_is_refused(clock: Any) -> None:
    """Whoever is dropped must be reported, or its listener stays among the subscriptions for ever."""
    sessions = Sessions(Mcp(sessions_each=1, session_seconds=10.0), clock)
    mine, other = (Caller("local", name, "ai", Access.EDIT) for name in ("mine", "other"))
    idle, _ = sessions.add(_peer("other"), other)
    clock.advance(60.0)
    busy, gone = sessions.add(_peer("mine"), mine)
    assert gone == [idle]
    idle, _ = sessions.add(_peer("other"), other)
    clock.advance(60.0)
    busy.streams = 1
    there = len(sessions)
    with pytest.raises(Overloaded):
        sessions.add(_peer("mine"), mine)
    assert len(sessions) == there, "an expired session was removed, and nobody was told to forget its listener"


def _peer(token: str) -> Any:
    class Peer:
        credential = Credential(token=token)
        running = ()

    return Peer()


async def _listener(house: Any, token: str, uri: str) -> tuple[McpDoor, Any, list[dict[str, Any]]]:
    """A client that has initialized in the yard and asked for news of a resource."""
    door, told = McpDoor(house.house.gate, house.house.services), []

    async def send(frame: bytes) -> None:
        told.append(json.loads(frame))

    peer = door.peer(Credential(token=token), "yard", None, send, "http")
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    for id, method, params in ((1, "initialize", opening), (2, "resources/subscribe", {"uri": uri})):
        await door.receive(peer, json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())
        await asyncio.gather(*peer.tasks)
    return door, peer, told


async def _news(told: list[dict[str, Any]]) -> list[str]:
    for _ in range(20):
        await asyncio.sleep(0)
    return [one["params"]["uri"] for one in told if one.get("method") == "notifications/resources/updated"]


async def test_nobody_hears_of_messages_in_a_room_that_they_may_not_read(house: Any) -> None:
    token = await house.token("bot", rooms=["yard"])
    uri = "doorward://rooms/vault/messages"
    read = await house.ask("room/messages", token=token, room="yard", params={"name": "vault"})
    assert read.code == "not_found"
    door, peer, told = await _listener(house, token, uri)
    await house.owner("room/say", name="vault", text="a secret")
    heard = await _news(told)
    await door.close(peer)
    assert heard == []


async def test_a_revoked_token_hears_nothing_more(house: Any) -> None:
    made = await house.owner("token/create", name="bot", rooms=["yard"])
    door, peer, told = await _listener(house, made.result["token"], "doorward://rooms/yard/messages")
    await house.owner("token/revoke", id=made.result["id"])
    await house.owner("room/say", name="yard", text="not for bot any more")
    heard = await _news(told)
    await door.close(peer)
    assert heard == []


# Answers that are kept.


async def test_a_kept_answer_of_one_room_is_not_given_to_a_token_for_another(house: Any) -> None:
    """The two tokens are of one agent, but the second may not act in the vault."""
    wide, narrow = await house.token("bot"), await house.token("bot", rooms=["yard"])
    body = {"command": "room/messages", "room": "vault", "params": {"name": "vault"}}
    key = {"Idempotency-Key": "1"}
    await house.owner("room/say", name="vault", text="a secret")
    async with client(house, wide) as one, client(house, narrow) as other:
        assert (await one.post("/api/run", json=body, headers=key)).status_code == 200
        assert (await other.post("/api/run", json=body)).status_code == 403
        again = await other.post("/api/run", json=body, headers=key)
    assert "a secret" not in again.text


async def test_a_kept_answer_is_not_given_to_who_may_not_ask_any_more(house: Any) -> None:
    token = await house.token("bot")
    body = {"command": "room/messages", "room": "vault", "params": {"name": "vault"}}
    key = {"Idempotency-Key": "1"}
    await house.owner("room/say", name="vault", text="a secret")
    async with client(house, token) as bot:
        assert (await bot.post("/api/run", json=body, headers=key)).status_code == 200
        await house.owner("room/archive", name="vault")
        assert (await bot.post("/api/run", json=body)).status_code == 403
        again = await bot.post("/api/run", json=body, headers=key)
    assert "a secret" not in again.text


async def test_the_cache_tells_a_narrow_token_from_a_wide_one(house: Any) -> None:
    wide, narrow = await house.token("bot"), await house.token("bot", rooms=["yard"])
    await house.ask("room/list", token=wide, room="yard", params={}, cache=True)
    cached = await house.ask("room/list", token=narrow, room="yard", params={}, cache=True)
    assert [one["room"] for one in cached.result["items"]] == ["yard"]


async def test_whoever_asks_in_a_loop_is_told_its_own_answer(house: Any) -> None:
    wide, narrow = await house.token("bot"), await house.token("bot", rooms=["yard"])
    for _ in range(2):
        await house.ask("room/list", token=wide, room="yard", params={})
    told = await house.ask("room/list", token=narrow, room="yard", params={})
    assert "vault" not in told.message, told.message


# Passwords.


def test_refused_attempts_do_not_make_the_house_forget_the_others(clock: Any) -> None:
    attempts = Attempts(clock)

    def attempt(account: str, address: str) -> None:
        attempts.count((f"{account} {address}", PAIR), (account, ACCOUNT), (address, ADDRESS))

    def refused(account: str, address: str) -> bool:
        try:
            attempt(account, address)
        except TooFast:
            return True
        return False

    while not refused("anna", "10.0.0.1"):
        pass
    for number in range(100):
        attempt(f"nobody-{number}", "10.0.0.2")
    for number in range(10_001):
        assert refused(f"somebody-{number}", "10.0.0.2")
    assert refused("anna", "10.0.0.1"), "refused attempts from elsewhere gave a guesser all tries again"


async def _with_password(house: Any) -> Any:
    accounts, people = house.house.services.accounts, house.house.services.people
    owner = people.known("local", "owner")
    await accounts.set_password(owner, OLD, current=None)
    return accounts, owner


async def test_a_login_with_the_old_password_does_not_outlive_the_change_it_meets(house: Any) -> None:
    accounts, owner = await _with_password(house)
    checked, go_on = asyncio.Event(), asyncio.Event()
    fits = accounts._passwords.fits

    async def slowly(password: str, hash: str | None) -> bool:
        answer = await fits(password, hash)
        checked.set()
        await go_on.wait()
        return bool(answer)

    accounts._passwords.fits = slowly
    attempt = Attempt("auth/login", "rest", "10.0.0.1", "local", "owner")
    login = asyncio.create_task(accounts.login(attempt, OLD))
    await checked.wait()
    await accounts.set_password(owner, NEW, current=None)
    go_on.set()
    try:
        grant = await login
    except DoorwardError:
        return
    with pytest.raises(NotAuthenticated):
        house.house.gate.caller(Credential(token=grant.access_token))


async def test_a_changed_password_ends_logins_also_when_whoever_changed_it_hangs_up(house: Any) -> None:
    accounts, _ = await _with_password(house)
    attempt = Attempt("auth/login", "rest", "10.0.0.1", "local", "owner")
    stolen = await accounts.login(attempt, OLD)
    store = accounts._store
    write, handed_over = store.write, asyncio.Event()

    async def noticed(*statements: Any, **more: Any) -> Any:
        if any("passwords" in one.sql for one in statements):
            handed_over.set()
        return await write(*statements, **more)

    store.write = noticed
    changing = asyncio.create_task(house.owner("user/password", password=NEW, current=OLD))
    await handed_over.wait()
    changing.cancel()
    await asyncio.gather(changing, return_exceptions=True)
    store.write = write
    await accounts.login(attempt, NEW)  # the change itself took place
    with pytest.raises(NotAuthenticated):
        house.house.gate.caller(Credential(token=stolen.access_token))


async def test_a_revoked_token_is_worthless_also_when_whoever_revoked_it_hangs_up(house: Any) -> None:
    made = await house.owner("token/create", name="bot", rooms=["yard"])
    tokens, store = house.house.services.tokens, house.house.services.store
    write, handed_over = store.write, asyncio.Event()

    async def noticed(*statements: Any, **more: Any) -> Any:
        if any("tokens" in one.sql for one in statements):
            handed_over.set()
        return await write(*statements, **more)

    store.write = noticed
    revoking = asyncio.create_task(house.owner("token/revoke", id=made.result["id"]))
    await handed_over.wait()
    revoking.cancel()
    await asyncio.gather(revoking, return_exceptions=True)
    store.write = write
    await store.write()
    rows = await store.read("SELECT revoked_at FROM tokens WHERE id = ?", (made.result["id"],))
    assert rows[0]["revoked_at"] is not None  # so it is revoked, as far as the house will know tomorrow
    with pytest.raises(NotAuthenticated):
        tokens.caller(made.result["token"])


# What goes on after it should have ended.


async def test_a_revoked_token_reads_no_more_of_what_a_program_writes(opened: Any, home: Home) -> None:
    family, going, go_on = Family("slow", category="test"), asyncio.Event(), asyncio.Event()

    @family.command(
        "writer",
        tier=Tier.CODE,
        effects=Effects.WRITE,
        access=Access.READ,
        safety=Safety.SAFE,
        cost=1,
        timeout=60,
        undo=NoUndo("a test"),
        examples=[Example("go", {})],
    )
    async def writer(ctx: Any) -> dict[str, str]:
        """Write before and after."""
        ctx.execution.say("stdout", b"before")
        going.set()
        await go_on.wait()
        ctx.execution.say("stdout", b"AFTERWARDS")
        return {}

    home.make()
    (home.recipes / "lax.json").write_text(json.dumps(RECIPE))
    async with opened(families=[family]) as driver:
        await driver.owner("room/create", name="yard", recipe="lax")
        made = await driver.owner("token/create", name="bot", rooms=["yard"])
        token = made.result["token"]
        work = asyncio.create_task(driver.ask("slow/writer", token=token, room="yard", params={}))
        await going.wait()
        (execution,) = [one.id for one in driver.house.services.executions if one.call.command.name == "slow/writer"]
        got, seen = bytearray(), asyncio.Event()

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

        async def send(message: Any) -> None:
            got.extend(message.get("body", b""))
            if b"before" in got:
                seen.set()

        headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {token}".encode())]
        headers.append((b"accept", b"text/event-stream"))
        scope: dict[str, Any] = {"type": "http", "method": "GET", "path": f"/api/executions/{execution}/stream"}
        scope |= {"query_string": b"room=yard", "scheme": "http", "root_path": "", "headers": headers}
        app = Server(driver.house.gate, driver.house.services).public
        stream = asyncio.create_task(app(scope, receive, send))
        async with asyncio.timeout(10):
            await seen.wait()
        await driver.owner("token/revoke", id=made.result["id"])
        go_on.set()
        await work
        async with asyncio.timeout(10):
            await stream
        assert b"AFTERWARDS" not in got


async def test_trying_a_call_out_for_people_leaves_a_record_also_when_the_caller_hangs_up(
    opened: Any, home: Home
) -> None:
    """Working out what a program would change runs that program. Whoever asks and leaves may try ever so many."""
    family, tried = Family("slow", category="test"), asyncio.Event()

    @family.command(
        "program",
        tier=Tier.CODE,
        effects=Effects.WRITE,
        access=Access.READ,
        safety=Safety.SAFE,
        cost=1,
        timeout=60,
        undo=NoUndo("a test"),
        examples=[Example("go", {})],
    )
    async def program(ctx: Any) -> dict[str, str]:
        """Run."""
        return {}

    @program.foresees
    async def foresee(ctx: Any) -> Foreseen | None:
        tried.set()
        await asyncio.Event().wait()
        return None

    recipe = json.loads(json.dumps(RECIPE))
    recipe["strategy"]["aiCommands"]["requireApproval"] = {"slow/program": True}
    home.make()
    (home.recipes / "lax.json").write_text(json.dumps(recipe))
    async with opened(families=[family]) as driver:
        await driver.owner("room/create", name="yard", recipe="lax")
        work = asyncio.create_task(driver.ask("slow/program", room="yard", params={}))
        async with asyncio.timeout(10):
            await tried.wait()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await driver.house.services.store.write()
        assert [row for row in await driver.ledger() if row["command"] == "slow/program"]
