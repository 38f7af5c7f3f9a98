"""Asking a human first (R4.1, R4.2, R4.4)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import Counter

import pytest

from doorward.config.settings import ApprovalSettings, Settings

TERMS = {"file/write": {"timeoutSeconds": 30}}


@pytest.fixture
def lab(opened):
    """A house with a room where writing a file needs approval."""

    @contextlib.asynccontextmanager
    async def open_lab(terms=TERMS, changes=None):
        recipe = {
            "recipeId": "careful",
            "displayName": "Careful",
            "strategy": {
                "aiCommands": {
                    "enabled": True,
                    "tiers": ["information", "code"],
                    "maxCommandsPerMinute": 1_000_000,
                    "requireApproval": terms,
                }
            },
        }
        async with opened(changes=changes) as driver:
            await driver.owner("recipe/put", id="careful", text=json.dumps(recipe))
            await driver.owner("room/create", name="lab", recipe="careful")
            yield driver

    return open_lab


def workspace(driver):
    return driver.house.home.path / "workspace"


async def ask(driver, content="hi", path="a.txt", **more):
    params = {"path": path, "content": content}
    return await driver.ask("file/write", room="lab", params=params, **more)


async def resume(driver, ticket, **more):
    return await driver.ask("", room="lab", ticket=ticket, **more)


async def decide(driver, verdict, ticket):
    return await driver.ask(f"approval/{verdict}", by="", room="", params={"id": ticket})


async def test_what_was_approved_runs_once(lab):
    async with lab() as driver:
        parked = await ask(driver)
        assert not (workspace(driver) / "a.txt").exists()
        early = await resume(driver, parked.ticket)
        await decide(driver, "approve", parked.ticket)
        ran = await resume(driver, parked.ticket)
        again = await resume(driver, parked.ticket)
        rows = await driver.ledger()
        assert (workspace(driver) / "a.txt").read_text() == "hi"
    assert (parked.status, parked.code, early.code) == ("parked", "approval_needed", "not_approved")
    assert early.retry_after is not None  # it is worth coming back, and after any other no it is not
    assert (ran.status, again.status, again.code) == ("done", "refused", "not_approved")
    assert ran.call in again.message
    assert [row["approval"] for row in rows if row["call"] == ran.call] == [parked.ticket] * 2


async def test_denied_and_expired_requests_never_run(lab, clock):
    async with lab() as driver:
        denied, expired = await ask(driver, "a"), await ask(driver, "b")
        await decide(driver, "deny", denied.ticket)
        clock.advance(30.001)
        late = await decide(driver, "approve", expired.ticket)
        ends = [await resume(driver, one.ticket) for one in (denied, expired)]
        listed = await driver.owner("approval/list")
        assert not (workspace(driver) / "a.txt").exists()
    assert (late.status, late.code) == ("failed", "conflict")
    assert [(end.code, end.retry_after) for end in ends] == [("not_approved", None)] * 2
    assert {item["state"] for item in listed.result["items"]} == {"denied", "expired"}


async def test_a_denial_and_an_expiry_are_outcomes_of_the_call_in_the_ledger(lab, clock):
    """Somebody who counts yesterday's denied calls finds them, and finds them only once among the executions."""
    async with lab() as driver:
        denied, forgotten, unused = [(await ask(driver, path=f"{name}.txt")) for name in ("denied", "late", "unused")]
        await decide(driver, "deny", denied.ticket)
        await decide(driver, "approve", unused.ticket)
        clock.advance(driver.house.settings.approvals.use_within + 31)
        await driver.house.services.approvals.expire_due()
        await driver.house.services.approvals.expire_due()
        ended = {row["call"]: row for row in await driver.ledger() if row["status"] in ("denied", "expired")}
        found = (await driver.owner("data/list", collection="executions", filter={"room": "lab"})).result["items"]
        counts = (await driver.owner("audit/timeline", inRoom="lab", since="1h")).result["totals"]
        (report,) = (await driver.owner("ai/report", room="lab")).result["items"]
        verified = (await driver.owner("audit/verify")).result
    told = {call: (row["status"], row["code"], row["caller"], row["approval"]) for call, row in ended.items()}
    assert told == {
        denied.call: ("denied", "denied", "helper", denied.ticket),
        forgotten.call: ("expired", "expired", "helper", forgotten.ticket),
        unused.call: ("expired", "expired", "helper", unused.ticket),
    }
    assert [ended[one.call]["note"] for one in (denied, forgotten, unused)] == [
        "Denied by owner.",
        "Nobody decided in time.",
        "It was approved, but not used in time.",
    ]
    states = {denied.call: "denied", forgotten.call: "expired", unused.call: "expired"}
    assert {one["id"]: one["status"] for one in found} == states
    assert len(found) == 3
    assert counts == {"parked": 3, "denied": 1, "expired": 2}
    assert (report["calls"], report["denied"], report["expired"]) == (3, 1, 2)
    assert verified["verified"]


async def test_an_approval_must_be_used_in_time(lab, clock):
    async with lab(changes=Settings(approvals=ApprovalSettings(use_within=60))) as driver:
        parked = await ask(driver)
        await decide(driver, "approve", parked.ticket)
        clock.advance(60.001)
        outcome = await resume(driver, parked.ticket)
    assert (outcome.code, "in time" in outcome.message) == ("not_approved", True)


async def test_an_approval_survives_a_restart(lab, opened):
    async with lab() as driver:
        parked = await ask(driver)
    async with opened() as driver:
        await decide(driver, "approve", parked.ticket)
    async with opened() as driver:
        assert (await resume(driver, parked.ticket)).status == "done"


@pytest.mark.parametrize(
    "change",
    [
        {"params": {"path": "a.txt", "content": "hi "}},
        {"params": {"path": "b.txt", "content": "hi"}},
        {"params": {"path": "a.txt", "content": "hi", "createParents": True}},
        {"room": "general", "params": {"path": "a.txt", "content": "hi"}},
        {"command": "file/delete", "params": {"path": "a.txt"}},
        {"by": "somebody", "params": {"path": "a.txt", "content": "hi"}},
        {"by": "", "params": {"path": "a.txt", "content": "hi"}},
    ],
)
async def test_a_ticket_is_good_only_for_exactly_what_was_approved(lab, change):
    async with lab() as driver:
        parked = await ask(driver)
        await decide(driver, "approve", parked.ticket)
        more = {"room": "lab", "command": "file/write", **change}
        outcome = await driver.ask(more.pop("command"), ticket=parked.ticket, **more)
        assert not (workspace(driver) / "a.txt").exists()
        assert (await resume(driver, parked.ticket)).status == "done", "the honest caller can still use it"
    assert (outcome.status, outcome.code) == ("refused", "not_approved")


async def test_a_folder_put_in_place_of_the_workspace_is_not_what_was_approved(lab):
    async with lab() as driver:
        parked = await ask(driver)
        await decide(driver, "approve", parked.ticket)
        workspace(driver).rename(workspace(driver).with_name("elsewhere"))
        workspace(driver).mkdir()
        outcome = await resume(driver, parked.ticket)
        assert list(workspace(driver).iterdir()) == []
    assert outcome.code == "not_approved"


async def test_all_checks_run_again_when_a_ticket_is_used(lab):
    async with lab() as driver:
        parked = await ask(driver)
        await decide(driver, "approve", parked.ticket)
        await driver.owner("room/recipe", name="lab", recipe="casual-chat")
        closed = await resume(driver, parked.ticket)
        await driver.owner("room/recipe", name="lab", recipe="careful")
        ran = await resume(driver, parked.ticket)
    assert (closed.code, ran.status) == ("not_permitted", "done")


async def test_a_recipe_that_now_asks_for_more_people_is_not_satisfied_by_fewer(lab):
    async with lab() as driver:
        parked = await ask(driver)
        await decide(driver, "approve", parked.ticket)
        text = driver.house.services.recipes.text("careful").decode()
        stricter = text.replace('"timeoutSeconds": 30', '"timeoutSeconds": 30, "quorum": 2')
        await driver.owner("recipe/put", id="careful", text=stricter)
        outcome = await resume(driver, parked.ticket)
    assert outcome.code == "not_approved"


async def test_neither_the_asker_nor_an_agent_nor_a_stranger_decides(lab):
    async with lab() as driver:
        for user, access in (("anna", "full"), ("ben", "read"), ("carl", "full")):
            await driver.owner("user/create", id=user, access=access)
        await driver.owner("room/join", name="lab", member="anna", role="admin")
        await driver.owner("room/join", name="lab", member="ben", role="admin")
        await driver.owner("user/create", id="zoe", access="root", tenant="elsewhere")
        tokens = {
            user: await driver.token(f"{user}-phone", user=user, kind="human", access=access)
            for user, access in (("anna", "full"), ("ben", "read"), ("carl", "full"))
        }
        agent = await driver.token("bot", kind="ai", access="root")
        asked_by_anna = await driver.ask(
            "file/write", token=tokens["anna"], room="lab", params={"path": "a", "content": "x"}
        )
        parked = await ask(driver)

        async def approve(token, ticket, room=""):
            return await driver.ask("approval/approve", token=token, room=room, params={"id": ticket})

        refused = {
            "the asker": await approve(tokens["anna"], asked_by_anna.ticket),
            "an agent with root": await approve(agent, parked.ticket, "lab"),
            "one who lacks the access": await approve(tokens["ben"], parked.ticket),
            "one who is not in the room": await approve(tokens["carl"], parked.ticket),
        }
        states = {
            (await driver.owner("approval/show", id=one.ticket)).result["state"] for one in (asked_by_anna, parked)
        }
        good = await approve(tokens["anna"], parked.ticket)
    assert {who: outcome.code for who, outcome in refused.items()} == dict.fromkeys(refused, "not_permitted")
    assert (states, good.status) == ({"pending"}, "done")


async def test_another_tenant_does_not_even_see_an_approval(lab):
    async with lab() as driver:
        parked = await ask(driver)
        await driver.owner("user/create", id="boss", access="root", tenant="elsewhere")
        token = await driver.token("phone", user="boss", tenant="elsewhere", kind="human", access="root")
        seen = [
            await driver.ask(command, token=token, room="", params={"id": parked.ticket})
            for command in ("approval/show", "approval/approve", "approval/deny")
        ]
        listed = await driver.ask("approval/list", token=token, room="")
    assert {outcome.code for outcome in seen} == {"not_found"}
    assert listed.result["items"] == []


async def test_a_quorum_needs_different_people(lab):
    async with lab({"file/write": {"timeoutSeconds": 30, "quorum": 2}}) as driver:
        await driver.owner("user/create", id="anna", access="full")
        await driver.owner("room/join", name="lab", member="anna", role="admin")
        anna = await driver.token("anna-phone", user="anna", kind="human", access="full")
        parked = await ask(driver)
        await decide(driver, "approve", parked.ticket)
        twice = await decide(driver, "approve", parked.ticket)
        shown = (await driver.owner("approval/show", id=parked.ticket)).result
        waits = [
            (await driver.owner("approval/list")).result["items"][0]["waitsForYou"],
            (await driver.ask("approval/list", token=anna, room="")).result["items"][0]["waitsForYou"],
        ]
        early = await resume(driver, parked.ticket)
        await driver.ask("approval/approve", token=anna, room="", params={"id": parked.ticket})
        ran = await resume(driver, parked.ticket)
    assert (twice.code, early.code, ran.status) == ("conflict", "not_approved", "done")
    assert (shown["cannotDecide"], waits) == ("You have already decided.", [False, True])


@pytest.mark.parametrize("loss", ["switched off", "left the room", "another role", "less access"])
async def test_the_vote_of_somebody_who_may_no_longer_decide_does_not_count(lab, loss):
    """Neither for the quorum nor, once it was reached, when the ticket is used."""

    async def lose(driver, name):
        if loss == "switched off":
            await driver.owner("user/change", id=name, active=False)
        elif loss == "left the room":
            await driver.owner("room/leave", name="lab", member=name)
        elif loss == "another role":
            await driver.owner("room/join", name="lab", member=name, role="member")
        else:
            await driver.owner("user/change", id=name, access="read")

    async with lab({"file/write": {"timeoutSeconds": 30, "quorum": 2}}) as driver:
        for name in ("anna", "ben"):
            await driver.owner("user/create", id=name, access="full")
            await driver.owner("room/join", name="lab", member=name, role="admin")
        tokens = {name: await driver.token(name, user=name, kind="human", access="full") for name in ("anna", "ben")}

        async def approve(name, ticket):
            return await driver.ask("approval/approve", token=tokens[name], room="", params={"id": ticket})

        before, after = await ask(driver), await ask(driver, path="b.txt")
        for parked in (before, after):
            await approve("anna", parked.ticket)
        await approve("ben", after.ticket)
        await lose(driver, "anna")
        second = await approve("ben", before.ticket)
        early, late = await resume(driver, before.ticket), await resume(driver, after.ticket)
        third = await decide(driver, "approve", before.ticket)
        ran = await resume(driver, before.ticket)
    assert (second.result["state"], early.code) == ("pending", "not_approved")
    assert (late.code, "may no longer decide" in late.message) == ("not_approved", True)
    assert (third.result["state"], ran.status) == ("approved", "done")


async def test_what_is_shown_is_what_runs_with_hidden_characters_written_out(lab):
    async with lab() as driver:
        parked = await ask(driver, "safe\u202e txt.exe\x1b[2K \u200b")
    shown = parked.result["shown"]
    assert shown.isprintable()
    assert "\\u202e" in shown
    assert "\\u001b" in shown
    assert '\\u200b"' in shown
    assert "  " not in shown.replace('", "', "")


async def test_thousands_of_racing_decisions_execute_nothing_wrong(lab, clock):
    """Approve, deny, double, late, replayed and edited uses in random order; only what was approved in time, once."""
    chance = random.Random(20_261_116)
    async with lab() as driver:
        store = driver.house.services.store
        decisions = 0
        approved_in_time: set[str] = set()
        ran: Counter[str] = Counter()
        round_ = 0
        while decisions < 2_500:
            round_ += 1
            tickets = [(await ask(driver, path=f"{round_}-{n}.txt")).ticket for n in range(10)]

            async def act(ticket: str) -> None:
                nonlocal decisions
                for _ in range(chance.randrange(8, 14)):
                    kind = chance.choice(["approve", "approve", "deny", "use", "use", "edit", "time", "agent"])
                    if kind in ("approve", "deny"):
                        decisions += 1
                        outcome = await decide(driver, kind, ticket)
                        if kind == "approve" and outcome.status == "done":
                            approved_in_time.add(ticket)
                    elif kind == "agent":
                        decisions += 1
                        outcome = await driver.ask("approval/approve", room="lab", params={"id": ticket})
                        assert outcome.code == "not_permitted"
                    elif kind == "use":
                        outcome = await resume(driver, ticket)
                        if outcome.status == "done":
                            ran[ticket] += 1
                    elif kind == "edit":
                        outcome = await ask(driver, "something else", ticket=ticket)
                        assert outcome.status == "refused"
                    else:
                        clock.advance(chance.choice([0.1, 1.0, 5.0]))

            await asyncio.gather(*(act(ticket) for ticket in tickets))
        used = await store.read(
            "SELECT id, used_by, created_at, decided_at, expires_at FROM approvals WHERE state = 'used'"
        )
        starts = await store.read(
            "SELECT approval, count(*) AS n FROM ledger WHERE phase = 'start' AND approval != '' GROUP BY approval"
        )
    assert set(ran) <= approved_in_time
    assert max(ran.values()) == 1
    assert {row["approval"]: row["n"] for row in starts} == dict.fromkeys(ran, 1)
    assert {row["id"] for row in used} == set(ran)
    assert all(row["decided_at"] < row["expires_at"] for row in used)
    assert len(ran) > 25, "the race would mean little if nothing ever ran"
