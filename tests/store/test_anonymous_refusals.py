"""Strangers cannot fill the ledger: their refused requests are counted, and nothing they send is kept."""

from __future__ import annotations

import json

import msgspec
import pytest

from doorward.config.settings import LimitSettings, Settings
from doorward.core.errors import NotAuthenticated, TooFast
from doorward.core.model import Credential, Request
from doorward.rooms.accounts.accounts import AccountAttempt

STRANGER = Request(
    command="file/write",
    credential=Credential(token="dw_nonsense"),
    door="rest",
    params={"path": "x", "content": "A" * 6_000},
    address="203.0.113.9",
)


async def refused(driver):
    return [row for row in await driver.ledger() if row["status"] == "refused"]


async def test_a_flood_of_strangers_leaves_a_few_records_a_minute(driver, clock):
    for address in ("203.0.113.9", "203.0.113.10"):
        for _ in range(100):
            outcome = await driver.house.gate.handle(msgspec.structs.replace(STRANGER, address=address))
            assert outcome.code == "not_authenticated"
    singly = await refused(driver)
    clock.advance(60)
    await driver.house.anonymous_refusals.flush_due()
    every = await refused(driver)
    assert len(singly) == 6
    assert {(row["command"], row["params"]) for row in singly} == {("file/write", "{}")}
    assert [(row["door"], json.loads(row["params"])) for row in every[6:]] == [
        ("rest", {"address": address, "count": 97, "codes": {"not_authenticated": 97}})
        for address in ("203.0.113.9", "203.0.113.10")
    ]
    for number in range(1_000):
        await driver.house.gate.handle(msgspec.structs.replace(STRANGER, address=f"2001:db8::{number:x}"))
    await driver.house.anonymous_refusals.flush()
    further = (await refused(driver))[8:]
    assert sum(json.loads(row["params"]).get("count", 1) for row in further) == 1_000
    assert len(further) < 50


async def test_what_was_counted_is_recorded_when_the_server_stops(opened):
    async with opened() as driver:
        for _ in range(10):
            await driver.house.gate.handle(STRANGER)
    async with opened() as driver:
        (last,) = (await refused(driver))[3:]
        assert (await driver.owner("audit/verify")).result["verified"]
    assert last["note"] == "7 more requests from 203.0.113.9 were refused within a minute."


async def test_a_stranger_who_asks_too_often_is_told_to_wait_and_nobody_else_is(opened, clock):
    async with opened(changes=Settings(limits=LimitSettings(anonymous_per_minute=5))) as driver:
        token = await driver.token("laptop", kind="human")
        codes = [(await driver.house.gate.handle(STRANGER)).code for _ in range(7)]
        last = await driver.house.gate.handle(STRANGER)
        known = msgspec.structs.replace(STRANGER, command="room/list", credential=Credential(token=token), params={})
        ours = await driver.house.gate.handle(known)
        other = await driver.house.gate.handle(msgspec.structs.replace(STRANGER, address="203.0.113.77"))
        clock.advance(60)
        later = await driver.house.gate.handle(STRANGER)
    assert codes == ["not_authenticated"] * 5 + ["too_fast"] * 2
    assert last.retry_after == pytest.approx(60)
    assert (ours.status, other.code, later.code) == ("done", "not_authenticated", "not_authenticated")


async def test_failed_logins_are_counted_apart_from_other_requests(driver):
    accounts = driver.house.services.accounts
    for number in range(200):
        with pytest.raises((NotAuthenticated, TooFast)):
            await accounts.redeem_link(AccountAttempt("auth/link", "rest", "203.0.113.9"), f"code{number}", "browser")
        with pytest.raises((NotAuthenticated, TooFast)):
            await accounts.refresh(AccountAttempt("auth/refresh", "rest", "203.0.113.9"), "nonsense")
    await driver.house.anonymous_refusals.flush()
    rows = await refused(driver)
    assert len(rows) == 8
    assert {row["command"]: json.loads(row["params"])["codes"] for row in rows[6:]} == {
        "auth/link": {"not_authenticated": 97, "too_fast": 100},
        "auth/refresh": {"not_authenticated": 117, "too_fast": 80},
    }
