"""Tenants never see each other, in any command (R7.4)."""

from __future__ import annotations

import json

import msgspec
import pytest

from doorward.commands.families import FAMILIES
from doorward.core.registry import Registry

CANARY = "zebra-crossing-7319"
REGISTRY = Registry(FAMILIES)
COMMANDS = [command.name for command in REGISTRY]
AREAS = sorted({name.partition("/")[0] for name in COMMANDS} - {"sh"})
"""The words of the session shell only ask for others of these; all together they have a test beside them."""


@pytest.fixture
async def two_tenants(driver):
    """The local tenant full of canaries, and a root user of another tenant."""
    house = driver.house
    await driver.owner("user/create", id=f"u-{CANARY}", access="full")
    await driver.owner("room/create", name=f"r-{CANARY}", recipe="admin")
    said = await driver.owner("room/say", text=f"message {CANARY}", name="general")
    await driver.owner("token/create", name=f"t-{CANARY}")
    await driver.owner("collection/define", name=f"c-{CANARY}", schema={"type": "object"})
    record = await driver.owner("data/create", collection=f"c-{CANARY}", data={"text": CANARY}, id=f"d-{CANARY}")
    (house.home.path / "workspace" / f"{CANARY}.txt").write_text(CANARY)
    written = await driver.owner("file/write", path=f"w-{CANARY}.txt", content=CANARY)
    parked = await driver.ask("file/write", params={"path": f"p-{CANARY}", "content": CANARY})
    token = await enter_rival(driver, "rival")
    ids = {"written": written.call, "record": record.call, "ticket": parked.ticket, "said": said.result["message"]}
    return driver, token, ids


async def enter_rival(driver, tenant: str) -> str:
    """The token of a root user of a new tenant."""
    await driver.owner("user/create", id=f"boss-of-{tenant}", access="root", tenant=tenant)
    return await driver.token("laptop", user=f"boss-of-{tenant}", tenant=tenant, kind="human", access="root")


def attempts(name: str, ids: dict[str, str]) -> list[dict[str, object]]:
    """Parameters that would show something of the other tenant, if anything could."""
    command = REGISTRY[name]
    tries = [dict(example.params) for example in command.facts.examples]
    guesses: dict[str, list[object]] = {
        "collection": ["rooms", "messages", "users", "audit", "executions", "approvals", f"c-{CANARY}"],
        "execution": [ids["written"], ids["record"]],
        "id": [ids["ticket"], f"d-{CANARY}", f"u-{CANARY}"],
        "message": [ids["said"]],
        "name": ["general", f"r-{CANARY}"],
        "path": [".", f"{CANARY}.txt", f"w-{CANARY}.txt"],
        "pattern": [CANARY],
        "words": [CANARY],
        "sql": [
            f"SELECT * FROM {table}"
            for table in ("rooms", "messages", "users", "audit", "executions", "approvals", "main.ledger", "records")
        ],
    }
    for key, values in guesses.items():
        if key in command.arguments:
            tries += [{**one, key: value} for one in tries[:2] for value in values]
    return tries


@pytest.mark.parametrize("area", AREAS)
async def test_no_command_shows_anything_of_another_tenant(two_tenants, clock, area):
    """Each command has a rival of its own, whose records of it hold the guessed names."""
    driver, _, ids = two_tenants
    for number, name in enumerate(name for name in COMMANDS if name.partition("/")[0] == area):
        token = await enter_rival(driver, f"rival-{number}")
        for params in attempts(name, ids):
            clock.advance(5)
            outcome = await driver.ask(name, token=token, room="", params=params)
            told = msgspec.json.encode(outcome).decode()
            for value in json.dumps(params).split('"'):
                if CANARY in value:
                    told = told.replace(value, "").replace(value.replace("\\", ""), "")
            assert CANARY not in told, (name, params, outcome)
        clock.advance(5)
        outcome = await driver.ask(name, token=token, room="general", params={})
        assert outcome.status == "refused", (name, outcome)


async def test_nothing_of_the_other_tenant_was_changed_meanwhile(two_tenants, clock):
    driver, token, ids = two_tenants
    records = "SELECT * FROM records WHERE tenant = 'local'"
    before = await driver.house.services.store.read(records)
    recipes = await driver.owner("recipe/list")
    for name in COMMANDS:
        for params in attempts(name, ids):
            clock.advance(5)
            await driver.ask(name, token=token, room="", params=params)
    after = await driver.house.services.store.read(records)
    files = sorted(file.name for file in (driver.house.home.path / "workspace").iterdir())
    assert after == before != []
    assert (await driver.owner("recipe/list")).result == recipes.result
    assert files == sorted([f"{CANARY}.txt", f"w-{CANARY}.txt"])
    assert (await driver.owner("approval/show", id=ids["ticket"])).result["state"] in ("pending", "expired")


async def test_a_new_tenant_can_work_on_its_own(two_tenants):
    driver, token, _ = two_tenants
    made = await driver.ask("room/create", token=token, room="", params={"name": "general", "recipe": "admin"})
    helper = await driver.ask("token/create", token=token, room="", params={"name": "helper", "access": "full"})
    written = await driver.ask(
        "file/write", token=helper.result["token"], room="general", params={"path": "a.txt", "content": "ours"}
    )
    other = await driver.ask(
        "user/create", token=token, room="", params={"id": "mole", "access": "root", "tenant": "local"}
    )
    forged = await driver.ask(
        "token/create", token=token, room="", params={"name": "x", "user": "owner", "tenant": "local"}
    )
    assert [made.status, helper.status, written.status] == ["done"] * 3
    assert (driver.house.home.path / "tenants" / "rival" / "workspace" / "a.txt").read_text() == "ours"
    assert [other.code, forged.code] == ["not_permitted"] * 2
