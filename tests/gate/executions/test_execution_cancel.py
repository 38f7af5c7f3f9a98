"""Cancelling stops exactly what was meant, once, and never costs a record (R6.6)."""

from __future__ import annotations

import asyncio

import pytest
from puppets import asked

from doorward.config.settings import LimitSettings, Settings
from waiting import until


async def cancel(driver, execution, **more):
    return await driver.ask("execution/cancel", params={"execution": execution}, **{"by": "", "room": ""} | more)


async def records(driver, execution):
    return [(row["phase"], row["code"]) for row in await driver.ledger() if row["call"] == execution]


async def test_cancelling_from_elsewhere_ends_the_call_with_an_outcome_and_a_record(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        answer = await cancel(driver, puppet.id, by="helper", room="lab")
        outcome = await call
        rows = await records(driver, puppet.id)
    assert answer.result == {
        "execution": puppet.id,
        "command": "puppet/change",
        "state": "cancelled",
        "cancelledBy": "helper",
        "ended": True,
    }
    assert (outcome.status, outcome.code, outcome.effect) == ("failed", "cancelled", "unknown")
    assert outcome.message == "puppet/change was cancelled by helper."
    assert puppet.gone.is_set()
    assert rows == [("start", ""), ("end", "cancelled")]


async def test_what_still_waits_is_withdrawn_and_nothing_ran(theatre, puppets):
    async with theatre(changes=Settings(limits=LimitSettings(running=1))) as driver:
        heard = []
        first = asked(driver, "puppet/change", "first", session="one")
        puppet = await puppets.on_stage("first")
        second = asked(driver, "puppet/change", "second", heard.append, session="one")
        third = asked(driver, "puppet/change", "third", session="one")
        await until(lambda: heard)
        answer = await cancel(driver, heard[0].execution)
        outcome = await second
        puppet.end()
        (await puppets.on_stage("third")).end()
        assert [(await first).status, (await third).status] == ["done", "done"]
        rows = await records(driver, outcome.call)
        shown = await driver.owner("execution/status", execution=outcome.call)
    assert (answer.result["state"], answer.result["ended"]) == ("cancelled", True)
    assert (outcome.status, outcome.code, outcome.effect) == ("refused", "withdrawn", "none")
    assert outcome.message == "puppet/change was cancelled by owner before it began. Nothing ran."
    assert "second" not in puppets.by_name
    assert rows == [("whole", "withdrawn")]
    assert shown.result["state"] == "cancelled"


async def test_cancelling_twice_names_the_first_and_harms_nobody(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        answers = await asyncio.gather(cancel(driver, puppet.id), cancel(driver, puppet.id, by="helper", room="lab"))
        outcome = await call
        again = await cancel(driver, puppet.id)
        rows = await records(driver, puppet.id)
    assert {answer.result["cancelledBy"] for answer in answers} == {"owner"}
    assert outcome.message == "puppet/change was cancelled by owner."
    assert again.code in ("not_found", "conflict")
    assert rows == [("start", ""), ("end", "cancelled")]


async def test_what_has_just_ended_is_not_cancelled_while_its_record_is_written(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        puppet.end({"x": 1})
        await puppet.gone.wait()
        await until(lambda: puppet.execution.state != "running")
        assert puppet.id in driver.house.services.executions
        assert puppet.execution.cancel("somebody") is False
        outcome = await call
        rows = await records(driver, puppet.id)
    assert (outcome.status, outcome.result) == ("done", {"x": 1})
    assert rows == [("start", ""), ("end", "ok")]


async def test_an_ended_one_with_output_is_said_to_have_ended(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        puppet.say("x")
        puppet.end()
        await call
        answer = await cancel(driver, puppet.id)
    assert (answer.code, answer.message) == (
        "conflict",
        f"Execution {puppet.id} can no longer be cancelled: it is completed.",
    )


async def test_the_next_call_of_the_same_task_is_not_touched(theatre, puppets):
    async with theatre() as driver:

        async def two():
            first = await driver.ask("puppet/change", room="lab", params={"name": "first"})
            assert asyncio.current_task().cancelling() == 0
            return first, await driver.ask("puppet/change", room="lab", params={"name": "second"})

        task = asyncio.create_task(two())
        puppet = await puppets.on_stage("first")
        puppet.execution.cancel("somebody")
        later = await puppets.on_stage("second")
        assert puppet.execution.cancel("somebody else") is False
        later.end()
        first, second = await task
    assert (first.code, second.status) == ("cancelled", "done")


async def test_a_caller_that_hangs_up_too_is_not_given_an_outcome_it_cannot_hear(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        puppet.execution.cancel("somebody")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        rows = await records(driver, puppet.id)
    assert rows == [("start", ""), ("end", "cancelled")]


async def test_cancelled_and_out_of_time_at_once_ends_once(theatre, puppets):
    async with theatre(timeoutSeconds=0.05) as driver:
        for number in range(20):
            call = asked(driver, "puppet/change", str(number))
            puppet = await puppets.on_stage(str(number))
            asyncio.get_running_loop().call_later(0.05, puppet.execution.cancel, "somebody")
            outcome = await call
            assert outcome.code in ("timed_out", "cancelled")
            assert await records(driver, puppet.id) == [("start", ""), ("end", outcome.code)]


async def test_a_command_that_finishes_all_the_same_is_done_and_its_task_is_free(theatre, puppets):
    async with theatre() as driver:

        async def task():
            outcome = await driver.ask("puppet/stubborn", room="lab", params={"name": "one"})
            return outcome, asyncio.current_task().cancelling()

        call = asyncio.create_task(task())
        puppet = await puppets.on_stage("one")
        puppet.execution.cancel("somebody")
        outcome, left = await call
    assert (outcome.status, outcome.result, left) == ("done", {"finished": "all the same"}, 0)


@pytest.mark.parametrize("waits", [True, False])
async def test_a_subscriber_may_cancel_what_it_is_told_of_in_the_midst_of_it(theatre, puppets, waits):
    async with theatre() as driver:
        executions = driver.house.services.executions

        def stop(event):
            if event.name == "execution:started":
                executions.get(event.execution).cancel("a rule")

        driver.house.services.events.subscribe(stop)
        outcome = await asked(driver, "puppet/change" if waits else "puppet/flash", "one")
        rows = await records(driver, outcome.call)
        after = await driver.ask("room/list", room="lab", params={})
    expected = "cancelled" if waits else "ok"
    assert (outcome.code, rows) == (expected, [("start", ""), ("end", expected)])
    assert after.status == "done"


async def test_cancelling_at_any_moment_of_the_start_leaves_a_whole_record_and_an_outcome(theatre, puppets):
    seen = set()
    async with theatre() as driver:
        for turns in range(40):
            heard = []
            call = asked(driver, "puppet/change", str(turns), heard.append)
            await until(lambda: list(driver.house.services.executions))
            (execution,) = driver.house.services.executions
            for _ in range(turns):
                await asyncio.sleep(0)
            if turns == 39:  # however long it takes to store a start, this one is stored
                await puppets.on_stage(str(turns))
            execution.cancel("somebody")
            outcome = await call
            rows = await records(driver, execution.id)
            seen.add(outcome.code)
            assert outcome.code in ("cancelled", "withdrawn")
            assert rows in ([("start", ""), ("end", "cancelled")], [("whole", "withdrawn")])
        left = await driver.house.services.store.read("SELECT * FROM open_calls")
    assert "cancelled" in seen
    assert left == []


async def test_a_start_that_could_not_be_stored_is_withdrawn_when_it_is_cancelled(theatre, puppets, monkeypatch):
    async with theatre() as driver:
        recorder = driver.house.gate._runner._recorder
        reached, go_on = asyncio.Event(), asyncio.Event()

        async def refuse(admitted, approval, *also):
            reached.set()
            await go_on.wait()
            raise OSError("no")

        monkeypatch.setattr(recorder, "start", refuse)
        call = asked(driver, "puppet/change", "one")
        await reached.wait()
        (execution,) = driver.house.services.executions
        execution.cancel("somebody")
        await asyncio.sleep(0)
        go_on.set()
        outcome = await call
        rows = await records(driver, execution.id)
    assert (outcome.code, rows) == ("withdrawn", [("whole", "withdrawn")])


async def test_the_person_an_agent_acts_for_may_cancel_and_another_agent_of_theirs_may_not(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        other = await cancel(driver, puppet.id, by="other", room="lab")
        person = await cancel(driver, puppet.id)
        await call
    assert (other.status, other.code) == ("failed", "not_found")
    assert person.result["cancelledBy"] == "owner"


async def test_a_room_s_owner_or_admin_may_cancel_what_runs_in_it_and_a_mere_member_may_not(theatre, puppets):
    async with theatre() as driver:
        for name, role in (("ann", "admin"), ("mel", "member"), ("sam", "member")):
            await driver.owner("user/create", id=name, access="full")
            await driver.owner("room/join", name="lab", member=name, role=role)
        tokens = {
            name: await driver.token(f"{name}-laptop", user=name, kind="human", access="full")
            for name in ("ann", "mel", "sam")
        }
        agent = await driver.token("sams-agent", user="sam", kind="ai", access="full")
        call = asyncio.create_task(driver.ask("puppet/change", token=agent, room="lab", params={"name": "one"}))
        puppet = await puppets.on_stage("one")
        member = await cancel(driver, puppet.id, token=tokens["mel"])
        seen = await driver.ask("execution/status", token=tokens["mel"], room="", params={"execution": puppet.id})
        admin = await cancel(driver, puppet.id, token=tokens["ann"])
        outcome = await call
    assert (member.code, seen.code) == ("not_found", "not_found")
    assert admin.result["cancelledBy"] == "ann"
    assert outcome.code == "cancelled"


async def test_a_call_cannot_cancel_what_it_runs_inside_of(theatre, puppets):
    async with theatre() as driver:
        executions = driver.house.services.executions

        async def cancels_its_parent():
            call = asked(driver, "puppet/ask", "puppet/change one")
            child = await puppets.on_stage("one")
            parent = child.execution.parent
            refused = await child.ctx.services.run_nested(child.ctx.call, "execution/cancel", {"execution": parent.id})
            assert parent.id in executions
            child.end()
            return refused, await call

        refused, outcome = await cancels_its_parent()
    assert outcome.status == "done"
    assert (refused.code, "contains this call" in refused.message) == ("conflict", True)


async def test_nobody_is_told_of_an_execution_that_never_was(theatre):
    async with theatre() as driver:
        answer = await cancel(driver, "01k9x2m4q7ab3cde")
        empty = await cancel(driver, "")
    assert (answer.status, answer.code) == ("failed", "not_found")
    assert empty.code == "not_found"
