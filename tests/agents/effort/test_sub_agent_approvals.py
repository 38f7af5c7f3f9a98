"""Requests of a sub-agent that wait for a person: approved, denied, expired, cancelled, and across restarts (R12.3)."""

from __future__ import annotations

from typing import Any

from sub_agent_house import Bench, Yard, yard

from waiting import until


async def parked(house: Yard, name: str = "a") -> tuple[str, str]:
    """A request that waits for the approval of its change: its id and its ticket."""
    house.open(f"before {name}")
    id = await house.change(name)
    return id, await house.parked(id)


async def test_an_approved_change_runs_once_and_the_request_completes(opened: Any) -> None:
    async with yard(opened) as house:
        id, ticket = await parked(house)
        waiting = await house.stored(id)
        assert (waiting.state, waiting.message, waiting.progress) == ("in_progress", "Waiting for approval.", 20.0)
        assert not house.sub.has_active_work()
        house.open("a")
        await house.decide("approve", ticket)
        done = await house.reached(id, "completed")
        assert done.result == {"looked": {"name": "before a"}, "changed": {"name": "a"}}
        assert done.ticket == ""
        assert house.bench.started == ["before a", "a"]
        records = [one for one in await house.driver.ledger() if one["door"] == "subagent"]
        assert [one["status"] for one in records] == ["done", "parked", "started", "done"]
        assert {(one["caller"], one["behalf"], one["room"]) for one in records} == {("guide", "owner", "general")}


async def test_a_denied_change_fails_with_the_reason(opened: Any) -> None:
    async with yard(opened) as house:
        id, ticket = await parked(house)
        await house.decide("deny", ticket, reason="We have one.")
        failed = await house.reached(id, "failed")
        assert failed.error == "bench/change: denied by owner: We have one."
        assert (failed.ticket, house.bench.started) == ("", ["before a"])
        assert house.sub.messages()[-1].report == "error"


async def test_an_approval_that_nobody_decides_in_time_fails_the_request(opened: Any) -> None:
    async with yard(opened) as house:
        await house.recipe(requireApproval={"bench/change": {"timeoutSeconds": 1}})
        id, _ = await parked(house)
        house.driver.clock.advance(2)
        failed = await house.reached(id, "failed")
        assert failed.error == "bench/change: the approval is expired without a decision."
        assert house.bench.started == ["before a"]


async def test_others_work_while_requests_wait_and_waiting_costs_nothing(opened: Any) -> None:
    async with yard(opened) as house:
        waiting = [await parked(house, name) for name in "abc"]
        before = [(await house.stored(id)).energy for id, _ in waiting]
        house.driver.clock.advance(20)
        id = await house.look("d")
        house.open(*"abcd")
        await house.reached(id, "completed")
        for id, ticket in waiting:
            await house.decide("approve", ticket)
            await house.reached(id, "completed")
        assert [(await house.stored(id)).energy for id, _ in waiting] == before


async def test_cancelling_a_request_that_waits_withdraws_its_approval(opened: Any) -> None:
    async with yard(opened) as house:
        id, ticket = await parked(house)
        cancelled = await house.sub.cancel(id, "changed my mind", by="owner")
        assert (cancelled.state, cancelled.ticket) == ("cancelled", "")
        shown = (await house.driver.owner("approval/show", id=ticket)).result
        assert shown["state"] == "expired"
        assert house.bench.started == ["before a"]


async def test_a_paused_sub_agent_runs_an_approved_change_when_it_goes_on(opened: Any) -> None:
    async with yard(opened) as house:
        id, ticket = await parked(house)
        house.open("a")
        house.sub.pause("owner")
        await house.decide("approve", ticket)
        await until(lambda: house.sub._turns._waiting)
        assert house.bench.started == ["before a"]
        house.sub.resume("owner")
        await house.reached(id, "completed")


async def test_a_request_goes_on_waiting_after_a_restart_and_repeats_nothing(opened: Any) -> None:
    bench = Bench()
    async with yard(opened, bench=bench) as house:
        id, ticket = await parked(house)
    async with yard(opened, bench=bench) as house:
        await house.parked(id)
        house.open("a")
        await house.decide("approve", ticket)
        done = await house.reached(id, "completed")
        assert done.result == {"looked": {"name": "before a"}, "changed": {"name": "a"}}
    assert bench.started == ["before a", "a"]


async def test_a_decision_during_a_stop_counts_when_the_sub_agent_starts_again(opened: Any) -> None:
    async with yard(opened) as house:
        house.open("a", "b")
        one, first = await parked(house, "a")
        two, second = await parked(house, "b")
        three, _ = await parked(house, "c")
        await house.sub.close()
        await house.decide("approve", first)
        await house.decide("deny", second)
        assert (await house.stored(one)).state == "in_progress"
        house.driver.clock.advance(61)
        house.sub = house.make()
        await house.sub.start()
        assert (await house.reached(one, "completed")).result["changed"] == {"name": "a"}
        assert "denied by owner" in (await house.reached(two, "failed")).error
        assert "expired" in (await house.reached(three, "failed")).error
