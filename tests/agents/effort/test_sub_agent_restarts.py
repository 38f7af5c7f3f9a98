"""What becomes of a sub-agent's requests when the agent stops, and when Doorward is killed (R12.3)."""

from __future__ import annotations

from typing import Any

import msgspec
from sub_agent_house import Yard, yard

from doorward.store import subagent_requests
from doorward.store.subagent_requests import SubAgentRequest


async def left_behind(house: Yard, **changes: Any) -> SubAgentRequest:
    """A request as a process that was killed left it."""
    request = SubAgentRequest(
        id="left",
        tenant="local",
        agent="guide",
        room="general",
        asker="owner",
        kind="remove_server",
        params={"server": "a"},
        priority="medium",
        state="in_progress",
        created_at=1.0,
        started_at=2.0,
    )
    request = msgspec.structs.replace(request, **changes)
    await house.driver.house.services.store.write(subagent_requests.put(request))
    return request


async def restarted(house: Yard) -> None:
    await house.sub.close()
    house.sub = house.make()
    await house.sub.start()


async def test_queued_requests_stay_queued_and_work_after_the_restart(opened: Any) -> None:
    async with yard(opened) as house:
        house.sub.pause("owner")
        id = await house.look("a")
        house.open("a")
        await house.sub.close()
        assert (await house.stored(id)).state == "queued"
        await restarted(house)
        await house.reached(id, "completed")
        assert house.bench.started == ["a"]


async def test_a_look_that_was_stopped_is_queued_again_and_repeated(opened: Any) -> None:
    async with yard(opened) as house:
        id = await house.look("a")
        await house.started("a")
        await house.sub.close()
        stopped = await house.stored(id)
        assert (stopped.state, stopped.message) == ("queued", "Queued again, because the agent stopped.")
        assert house.bench.cancelled == ["a"]
        await restarted(house)
        house.open("a")
        await house.reached(id, "completed")
        assert house.bench.started == ["a", "a"]


async def test_a_change_that_was_stopped_has_failed_and_is_not_repeated(opened: Any) -> None:
    async with yard(opened) as house:
        await house.recipe(requireApproval={})
        house.open("before a")
        id = await house.change("a")
        await house.started("a")
        await house.sub.close()
        assert (await house.stored(id)).error.startswith("Doorward stopped while bench/change ran.")
        assert house.bench.cancelled == ["a"]
        await restarted(house)
        assert (await house.stored(id)).state == "failed"
        assert house.bench.started == ["before a", "a"]


async def test_a_killed_change_has_failed(opened: Any) -> None:
    async with yard(opened) as house:
        await left_behind(house, result={"calls": {"bench/look": {"name": "before a"}}, "running": "bench/change"})
        await restarted(house)
        failed = await house.stored("left")
        assert (failed.state, failed.error) == (
            "failed",
            "Doorward stopped while bench/change ran. Check the servers before you send the request again.",
        )
        assert house.sub.messages()[-1].report == "error"
        assert house.bench.started == []


async def test_a_killed_look_runs_again_and_the_calls_before_it_do_not(opened: Any) -> None:
    async with yard(opened) as house:
        await house.recipe(requireApproval={})
        await left_behind(house, result={"running": "bench/look"})
        house.open("before a", "a")
        await restarted(house)
        await house.reached("left", "completed")
        assert house.bench.started == ["before a", "a"]
        await left_behind(house, result={"calls": {"bench/look": {"name": "seen"}}}, state="in_progress")
        await restarted(house)
        done = await house.reached("left", "completed")
        assert done.result == {"looked": {"name": "seen"}, "changed": {"name": "a"}}
        assert house.bench.started == ["before a", "a", "a"]


async def test_an_approval_that_was_used_when_doorward_was_killed_has_failed(opened: Any) -> None:
    async with yard(opened) as house:
        house.open("before a", "a")
        id = await house.change("a")
        ticket = await house.parked(id)
        await house.decide("approve", ticket)
        await house.reached(id, "completed")
        journal = {"calls": {"bench/look": {"name": "before a"}}, "running": "bench/change", "ticket": ticket}
        await left_behind(house, result=journal)
        await restarted(house)
        failed = await house.reached("left", "failed")
        assert failed.error.startswith("Doorward stopped while bench/change ran.")
        assert house.bench.started == ["before a", "a"]


async def test_an_approval_that_was_not_used_yet_is_used_after_the_restart(opened: Any) -> None:
    async with yard(opened) as house:
        house.open("before a", "a")
        id = await house.change("a")
        ticket = await house.parked(id)
        await house.sub.close()
        await house.decide("approve", ticket)
        store = house.driver.house.services.store
        (row,) = await subagent_requests.unfinished(store, "local", "guide")
        journal = {"calls": {"bench/look": {"name": "before a"}}, "running": "bench/change", "ticket": ticket}
        await store.write(subagent_requests.put(msgspec.structs.replace(row, ticket="", result=journal)))
        await restarted(house)
        await house.reached(id, "completed")
        assert house.bench.started == ["before a", "a"]


async def test_a_request_shows_no_result_before_it_has_one(opened: Any) -> None:
    async with yard(opened) as house:
        id = await house.look("a")
        await house.started("a")
        assert (await house.stored(id)).result is None
        store = house.driver.house.services.store
        (newest,) = await subagent_requests.newest(store, "local", "guide", "in_progress")
        assert (newest.id, newest.result) == (id, None)
