"""When access ends before its time, the calls that run with it end too, and their record says why."""

from __future__ import annotations

import asyncio

import pytest

from doorward.core.model import Credential, Request
from doorward.rooms.accounts.accounts import AccountAttempt
from doorward.rooms.people import LOCAL, OWNER
from waiting import PATIENCE

ATTEMPT = AccountAttempt("auth/logout", "rest", "127.0.0.1")


def running(driver, name, credential):
    request = Request("puppet/change", credential, "test", room="lab", params={"name": name})
    return asyncio.create_task(driver.house.gate.handle(request))


async def agent_token(driver, **more):
    made = (await driver.owner("token/create", name="agent", **more)).result
    return Credential(token=made["token"]), lambda: driver.owner("token/revoke", id=made["id"])


async def blocked_user(driver):
    await driver.owner("user/create", id="anna", access="full")
    await driver.owner("room/join", name="lab", member="anna")
    credential, _ = await agent_token(driver, user="anna")
    return credential, lambda: driver.owner("user/change", id="anna", active=False)


async def login_session(driver):
    services = driver.house.services
    opening = services.tokens.sessions.create(
        services.people.require(LOCAL, OWNER), access_seconds=900, refresh_seconds=9_000
    )
    await services.store.write(*opening.statements)
    services.tokens.sessions.activate(opening)
    grant = opening.grant
    return Credential(token=grant.access_token), lambda: services.accounts.logout(ATTEMPT, grant.refresh_token)


async def browser(driver):
    services = driver.house.services
    code = services.browsers.create_link(LOCAL, OWNER)
    entrance = await services.accounts.redeem_link(ATTEMPT, code, "test")
    credential = Credential(browser=entrance.secret, proof=entrance.proof)
    return credential, lambda: services.accounts.logout_browser(ATTEMPT, entrance.browser)


async def persona(driver):
    await driver.owner("room/join", name="lab", member="guide")
    credential = Credential(persona="guide", asker=OWNER, room="lab")
    return credential, lambda: driver.owner("persona/remove", id="guide")


@pytest.mark.parametrize(
    ("access", "reason"),
    [
        (agent_token, "the revocation of its token"),
        (blocked_user, "the blocking of anna"),
        (login_session, "the end of its login session"),
        (browser, "the end of its browser session"),
        (persona, "the removal of the persona guide"),
    ],
)
async def test_a_running_call_ends_with_the_access_it_runs_with(theatre, puppets, access, reason):
    async with theatre() as driver:
        credential, end = await access(driver)
        call, other = running(driver, "one", credential), running(driver, "two", Credential(owner=True, speak_as="b"))
        puppet, untouched = await puppets.on_stage("one"), await puppets.on_stage("two")
        await end()
        outcome = await asyncio.wait_for(call, PATIENCE)
        assert not untouched.gone.is_set()
        untouched.end()
        assert (await other).status == "done"
        (record,) = [row for row in await driver.ledger() if (row["call"], row["phase"]) == (puppet.id, "end")]
    assert (outcome.code, outcome.message) == ("cancelled", f"puppet/change was cancelled by {reason}.")
    assert (record["status"], record["code"], record["note"]) == ("failed", "cancelled", outcome.message)


async def test_the_call_that_ends_its_own_access_is_answered(driver):
    made = (await driver.owner("token/create", name="laptop", kind="human", access="root")).result
    revoked = await driver.ask("token/revoke", token=made["token"], room="", params={"id": made["id"]})
    later = await driver.ask("room/list", token=made["token"], room="")
    assert (revoked.status, later.code) == ("done", "not_authenticated")
