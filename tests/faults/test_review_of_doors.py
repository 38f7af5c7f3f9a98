"""What a review of the new doors found: each test says what should hold, and fails for as long as it does not."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from doorward.config.home import Home
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, NoUndo
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import DoorwardError, NotAuthenticated, TooFast
from doorward.core.model import Credential
from doorward.doors.line.door import LineDoor
from doorward.rooms.accounts.accounts import AccountAttempt
from doorward.rooms.accounts.attempt_limits import ACCOUNT_LIMIT, ADDRESS_LIMIT, PAIR_LIMIT, AttemptLimiter
from waiting import PATIENCE

RECIPE = {
    "recipeId": "lax",
    "displayName": "Lax",
    "description": "All is allowed.",
    "strategy": {"aiCommands": {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 10_000}},
}
OLD, NEW = "four words make one", "five other words make two"


@pytest.fixture
async def house(home: Home, opened: Any) -> Any:
    home.create()
    (home.recipes / "lax.json").write_text(json.dumps(RECIPE))
    async with opened() as driver:
        for room in ("yard", "vault"):
            await driver.owner("room/create", name=room, recipe="lax")
        yield driver


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
    connection = LineDoor(house.house.gate, services).create_connection()
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


# Answers that are kept.


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
    attempts = AttemptLimiter(clock)

    def attempt(account: str, address: str) -> None:
        attempts.count((f"{account} {address}", PAIR_LIMIT), (account, ACCOUNT_LIMIT), (address, ADDRESS_LIMIT))

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
    owner = people.require("local", "owner")
    await accounts.set_password(owner, OLD, current=None)
    return accounts, owner


async def test_a_login_with_the_old_password_does_not_outlive_the_change_it_meets(house: Any) -> None:
    accounts, owner = await _with_password(house)
    checked, go_on = asyncio.Event(), asyncio.Event()
    verify = accounts._passwords.verify

    async def slowly(password: str, hash: str | None) -> bool:
        answer = await verify(password, hash)
        checked.set()
        await go_on.wait()
        return bool(answer)

    accounts._passwords.verify = slowly
    attempt = AccountAttempt("auth/login", "rest", "10.0.0.1", "local", "owner")
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
    attempt = AccountAttempt("auth/login", "rest", "10.0.0.1", "local", "owner")
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
        tokens.authenticate(made.result["token"])


# What goes on after it should have ended.


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

    @program.previews_effect
    async def foresee(ctx: Any) -> EffectPreview | None:
        tried.set()
        await asyncio.Event().wait()
        return None

    recipe = json.loads(json.dumps(RECIPE))
    recipe["strategy"]["aiCommands"]["requireApproval"] = {"slow/program": True}
    home.create()
    (home.recipes / "lax.json").write_text(json.dumps(recipe))
    async with opened(families=[family]) as driver:
        await driver.owner("room/create", name="yard", recipe="lax")
        work = asyncio.create_task(driver.ask("slow/program", room="yard", params={}))
        async with asyncio.timeout(PATIENCE):
            await tried.wait()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await driver.house.services.store.write()
        assert [row for row in await driver.ledger() if row["command"] == "slow/program"]
