"""A command may run others inside itself: each is checked, recorded and stopped like any call."""

from __future__ import annotations

import asyncio

import pytest
from puppets import asked

from doorward.config.settings import LimitSettings, Settings
from doorward.core.errors import Conflict


async def rows(driver, command):
    return [row for row in await driver.ledger() if row["command"] == command]


async def test_an_inner_call_is_by_the_same_caller_in_the_same_room_and_has_records_of_its_own(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/ask", "puppet/change one", response="r1")
        puppet = await puppets.on_stage("one")
        inner, outer = puppet.ctx.call, puppet.execution.parent.call
        puppet.end({"x": 1})
        outcome = await call
        records = [(row["call"], row["phase"]) for row in await driver.ledger()][-4:]
    assert outcome.result == {"status": "done", "code": "ok", "call": inner.id, "result": {"x": 1}}
    for field in ("caller", "room", "door", "session", "response", "workspace"):
        assert getattr(inner, field) == getattr(outer, field)
    assert records == [(outer.id, "start"), (inner.id, "start"), (inner.id, "end"), (outer.id, "end")]


async def test_an_inner_call_is_refused_by_the_recipe_like_any_other(theatre, puppets):
    async with theatre(blacklist=["puppet/change"]) as driver:
        outcome = await asked(driver, "puppet/ask", "puppet/change one")
        (record,) = await rows(driver, "puppet/change")
    assert (outcome.status, outcome.result["code"]) == ("done", "not_permitted")
    assert (record["status"], record["caller"], record["door"]) == ("refused", "helper", "test")


async def test_an_inner_call_with_wrong_parameters_or_of_nothing_is_refused(theatre, puppets):
    async with theatre() as driver:
        wrong = await asked(driver, "puppet/ask", "puppet/change")
        unknown = await asked(driver, "puppet/ask", "puppet/nothing x")
    assert (wrong.result["code"], unknown.result["code"]) == ("bad_params", "unknown_command")


async def test_an_inner_call_that_needs_approval_is_parked_with_its_ticket(theatre, puppets):
    async with theatre(requireApproval={"puppet/change": True}) as driver:
        outcome = await asked(driver, "puppet/ask", "puppet/change one")
        (inner,) = puppets.inner
        await driver.owner("approval/approve", id=inner.ticket)
        call = asked(driver, "puppet/change", "one", ticket=inner.ticket)
        (await puppets.on_stage("one")).end()
        resumed = await call
    assert outcome.result["status"] == "parked"
    assert resumed.status == "done"


async def test_an_inner_call_counts_against_the_limits(theatre, puppets):
    async with theatre(maxCommandsPerMinute=2) as driver:
        first = await asked(driver, "puppet/ask", "room/list")
        second = await asked(driver, "puppet/ask", "room/list")
    assert first.result["status"] == "done"
    assert second.code == "too_fast"


async def test_inner_calls_need_no_place_of_their_own(theatre, puppets):
    async with theatre(changes=Settings(limits=LimitSettings(running=1, queued=0))) as driver:
        call = asked(driver, "puppet/ask", "puppet/ask puppet/change one")
        (await puppets.on_stage("one")).end()
        outcome = await call
    assert outcome.result["result"]["status"] == "done"


async def test_calls_stand_inside_each_other_only_so_deep(theatre, puppets):
    async with theatre() as driver:
        allowed = asked(driver, "puppet/ask", "puppet/ask puppet/ask puppet/ask puppet/change one")
        (await puppets.on_stage("one")).end()
        await allowed
        deepest, puppets.inner = list(puppets.inner), []
        await asked(driver, "puppet/ask", "puppet/ask puppet/ask puppet/ask puppet/ask puppet/change two")
        refused = puppets.inner[0]
    assert [outcome.status for outcome in deepest] == ["done"] * 4
    assert (refused.status, refused.code) == ("refused", "not_permitted")
    assert "at most 4 deep" in refused.message
    assert "two" not in puppets.by_name


async def test_what_an_inner_call_writes_shows_in_the_outer_one_as_well(theatre, puppets):
    async with theatre() as driver:
        heard = []
        call = asked(driver, "puppet/ask", "puppet/change one", heard.append)
        puppet = await puppets.on_stage("one")
        puppet.say("from within\n")
        puppet.end()
        outcome = await call
        kept = await driver.ask("execution/output", room="lab", params={"execution": outcome.call})
    assert kept.result["text"] == "from within\n"
    assert heard[-1].text == "from within\n"


async def test_cancelling_the_outer_one_stops_the_inner_one_and_both_have_their_end(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/ask", "puppet/change one")
        puppet = await puppets.on_stage("one")
        puppet.execution.parent.cancel("somebody")
        outcome = await call
        ends = [row["code"] for row in await driver.ledger() if row["phase"] == "end"][-2:]
    assert (outcome.code, outcome.message) == ("cancelled", "puppet/ask was cancelled by somebody.")
    assert puppet.gone.is_set()
    assert ends == ["cancelled", "cancelled"]


async def test_cancelling_the_inner_one_lets_the_outer_one_go_on(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/ask", "puppet/change one")
        puppet = await puppets.on_stage("one")
        puppet.execution.cancel("somebody")
        outcome = await call
    assert (outcome.status, outcome.result["code"]) == ("done", "cancelled")


@pytest.mark.parametrize("first", ["inner", "outer"])
async def test_cancelling_both_at_once_ends_both(theatre, puppets, first):
    async with theatre() as driver:

        async def carried():
            outcome = await driver.ask("puppet/ask", room="lab", params={"name": "puppet/change one"})
            return outcome, asyncio.current_task().cancelling()

        call = asyncio.create_task(carried())
        puppet = await puppets.on_stage("one")
        both = [puppet.execution, puppet.execution.parent]
        for execution in both if first == "inner" else reversed(both):
            execution.cancel("somebody")
        outcome, left = await call
        ends = [row["code"] for row in await driver.ledger() if row["phase"] == "end"][-2:]
    assert (outcome.code, left) == ("cancelled", 0)
    assert ends == ["cancelled", "cancelled"]


async def test_the_outer_one_s_time_stops_the_inner_one(theatre, puppets):
    async with theatre(timeoutSeconds=1) as driver:
        outcome = await asked(driver, "puppet/ask", "puppet/ask puppet/change one")
        ends = [(row["command"], row["code"]) for row in await driver.ledger() if row["phase"] == "end"][-3:]
    assert outcome.code == "timed_out"
    assert {code for _, code in ends} <= {"timed_out", "cancelled"}
    assert len(ends) == 3


async def test_nothing_runs_inside_a_call_that_is_over_or_only_tells_its_effect(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        puppet.say("so that it is remembered")
        puppet.end()
        await call
        with pytest.raises(Conflict):
            await puppet.ctx.services.run_nested(puppet.ctx.call, "puppet/change", {"name": "two"})
    assert "two" not in puppets.by_name
