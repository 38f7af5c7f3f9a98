"""The queue of a sub-agent: priorities, turns, messages, pauses, cancelling, and what it refuses (R12.3)."""

from __future__ import annotations

from typing import Any

import pytest
from sub_agent_house import yard

from doorward.agents.effort.sub_agent import LOW_ENERGY, MAX_FAILURES, MAX_OPEN
from doorward.core.errors import BadParams, Conflict, Looping, NotAuthenticated, NotFound, Overloaded
from waiting import until


async def test_the_urgent_go_first_then_the_oldest_and_three_work_at_once(opened: Any) -> None:
    async with yard(opened) as house:
        names = ["a", "b", "c"]
        for name in names:
            await house.look(name)
        await house.started(*names)
        await house.look("low", "low")
        await house.look("medium one")
        await house.look("medium two")
        await house.look("high", "high")
        assert house.bench.started == names
        for done, next_one in (("a", "high"), ("b", "medium one"), ("c", "medium two"), ("high", "low")):
            house.open(done)
            await house.started(next_one)
        assert house.bench.started == [*names, "high", "medium one", "medium two", "low"]
        assert house.sub.has_active_work()
        house.open("low", "medium one", "medium two")
        await until(lambda: not house.sub.has_active_work())


async def test_a_request_reports_its_way_from_the_queue_to_its_result(opened: Any) -> None:
    async with yard(opened) as house:
        id = await house.look("a")
        await house.started("a")
        running = await house.sub.find(id)
        assert running is not None
        assert (running.state, running.progress, running.message) == ("in_progress", 50.0, "half of it")
        house.open("a")
        done = await house.reached(id, "completed")
        assert (done.progress, done.result, done.error) == (100.0, {"name": "a"}, "")
        assert done.started_at is not None
        assert done.ended_at is not None
        first, last = house.events[0], house.events[-1]
        assert (first.report, first.state) == ("status_update", "queued")
        assert (last.report, last.state) == ("completion", "completed")
        progress = [one.progress for one in house.events]
        assert progress == sorted(progress)
        assert {(one.agent, one.request) for one in house.events} == {("guide", id)}
        update, completion = house.sub.messages()
        assert (update.report, update.request, update.data["progress"]) == ("status_update", id, 100.0)
        assert (completion.report, completion.data["result"]) == ("completion", {"name": "a"})
        assert house.heard[-1] == completion
        assert house.sub.messages() == []


async def test_a_failure_is_reported_with_its_reason(opened: Any) -> None:
    async with yard(opened) as house:
        id = await house.look("bad one")
        house.open("bad one")
        failed = await house.reached(id, "failed")
        assert failed.error == "bench/look: bad one is broken."
        (*_, error) = house.sub.messages()
        assert (error.report, error.message, error.data["state"]) == ("error", failed.error, "failed")


async def test_words_that_are_no_text_are_stored_and_shown_escaped(opened: Any) -> None:
    async with yard(opened) as house:
        id = await house.look("bad \ud800\u202e")
        failed = await house.reached(id, "failed")
        assert failed.params == {"server": "bad \ud800\u202e"}
        assert "\ud800" not in failed.error
        assert "\u202e" not in failed.error


async def test_a_queued_request_is_cancelled_and_never_starts(opened: Any) -> None:
    async with yard(opened) as house:
        for name in "abc":
            await house.look(name)
        await house.started("a", "b", "c")
        id = await house.look("d")
        cancelled = await house.sub.cancel(id, "not needed", by="owner")
        assert (cancelled.state, cancelled.error) == ("cancelled", "Cancelled by owner: not needed")
        assert cancelled.energy == 0
        house.open(*"abcd")
        await until(lambda: not house.sub.has_active_work())
        assert "d" not in house.bench.started
        assert (await house.stored(id)).state == "cancelled"


async def test_a_request_that_is_cancelled_at_once_is_cancelled_too(opened: Any) -> None:
    async with yard(opened) as house:
        id = await house.look("a")
        assert (await house.sub.cancel(id, "")).state == "cancelled"
        assert (await house.stored(id)).error == "Cancelled."
        assert house.bench.started == []


async def test_cancelling_a_running_request_cancels_its_call_and_frees_its_turn(opened: Any) -> None:
    async with yard(opened) as house:
        ids = [await house.look(name) for name in "abcd"]
        await house.started("a", "b", "c")
        cancelled = await house.sub.cancel(ids[1], "too slow", by="owner")
        assert (cancelled.state, cancelled.error) == ("cancelled", "Cancelled by owner: too slow")
        assert house.bench.cancelled == ["b"]
        await house.started("d")
        (record,) = [one for one in await house.driver.ledger() if one["code"] == "cancelled"]
        assert "cancelled by owner" in record["note"]
        house.open(*"acd")
        await house.reached(ids[3], "completed")


async def test_an_ended_request_cannot_be_cancelled(opened: Any) -> None:
    async with yard(opened) as house:
        id = await house.look("a")
        house.open("a")
        await house.reached(id, "completed")
        with pytest.raises(Conflict, match="is completed already"):
            await house.sub.cancel(id, "late")
        with pytest.raises(NotFound):
            await house.sub.cancel("unknown", "")
        assert await house.sub.find("unknown") is None


async def test_while_it_is_paused_running_calls_end_and_nothing_new_begins(opened: Any) -> None:
    async with yard(opened) as house:
        await house.recipe(requireApproval={})
        changing = await house.change("a")
        await house.started("before a")
        house.sub.pause("owner")
        assert house.sub.paused_by == "owner"
        waiting = await house.look("b")
        house.open("before a", "a", "b")
        await until(lambda: "before a" in house.bench.done)
        await until(lambda: (job := house.sub._jobs[changing]).request.progress == 20 and not job._has_turn)
        assert house.bench.started == ["before a"]
        energy = house.sub._jobs[changing].energy.total
        house.driver.clock.advance(100)
        assert house.sub._jobs[changing].energy.total == energy
        house.sub.resume("owner")
        assert house.sub.paused_by == ""
        await house.reached(changing, "completed")
        await house.reached(waiting, "completed")


async def test_the_agent_and_people_do_not_lift_each_others_pauses(opened: Any) -> None:
    async with yard(opened) as house:
        house.sub.pause(LOW_ENERGY)
        house.sub.pause("owner")
        house.sub.resume(LOW_ENERGY)
        assert house.sub.paused_by == "owner"
        id = await house.look("a")
        house.open("a")
        house.sub.pause(LOW_ENERGY)
        house.sub.resume("maria")
        assert house.sub.paused_by == LOW_ENERGY
        assert (await house.stored(id)).state == "queued"
        house.sub.resume(LOW_ENERGY)
        await house.reached(id, "completed")


async def test_the_same_request_twice_is_one_and_another_about_the_server_is_refused(opened: Any) -> None:
    async with yard(opened) as house:
        id = await house.look("a")
        assert await house.look("a", "high") == id
        with pytest.raises(Conflict, match="Another request about the same server"):
            await house.change("a")
        with pytest.raises(Conflict, match="Another request about the same server"):
            await house.sub.queue("test_server", {"server": "a", "calls": False}, "low", room="general", asker="owner")
        house.open("a")
        await house.reached(id, "completed")
        assert await house.look("a") != id


async def test_a_model_that_repeats_itself_does_not_fill_the_queue(opened: Any) -> None:
    async with yard(opened) as house:
        ids = [await house.look(str(number)) for number in range(MAX_OPEN)]
        with pytest.raises(Overloaded, match="10 requests to the sub-agent of guide are open"):
            await house.look("one more")
        await house.sub.cancel(ids[-1], "")
        await house.look("one more")


async def test_a_request_that_fails_again_and_again_is_refused_for_a_while(opened: Any) -> None:
    async with yard(opened) as house:
        house.open("bad", "bad two")
        for _ in range(MAX_FAILURES):
            await house.reached(await house.look("bad"), "failed")
        with pytest.raises(Looping, match="The same request failed 3 times in the last 10 minutes") as refusal:
            await house.look("bad")
        assert refusal.value.retry_after == pytest.approx(600)
        await house.reached(await house.look("bad two"), "failed")
        house.driver.clock.advance(600)
        await house.look("bad")


@pytest.mark.parametrize(
    ("kind", "params", "why"),
    [
        ("test_server", {}, "missing required field `server`. It takes server, calls; given: nothing."),
        ("test_server", {"server": ""}, "test_server: Expected `str` of length >= 1"),
        ("remove_server", {"server": "a", "force": True}, "unknown field `force`. It takes server; given: "),
        ("modify_server", {"server": "a", "changes": {}}, "missing required field `enabled`"),
        ("search_servers", {"purpose": "time", "limit": 0}, "It takes purpose, limit"),
        ("add_server", {"serverName": " "}, "add_server needs serverName, or a purpose"),
        (
            "add_server",
            {"serverName": "a", "env": {"API_KEY": "sk-123"}},
            "add_server takes no secrets: env has API_KEY",
        ),
        ("fetch_server", {}, "Unknown kind of request 'fetch_server'. Kinds: add_server, remove_server"),
    ],
)
async def test_bad_parameters_are_refused_with_what_is_valid(opened: Any, kind: Any, params: Any, why: str) -> None:
    async with yard(opened) as house:
        with pytest.raises(BadParams) as refusal:
            await house.sub.queue(kind, params, "medium", room="general", asker="owner")
        assert why in refusal.value.message
        assert house.heard == []


async def test_a_request_needs_a_room_and_a_known_priority(opened: Any) -> None:
    async with yard(opened) as house:
        with pytest.raises(BadParams, match="needs the room of its conversation; given: none"):
            await house.look("a", room="")
        with pytest.raises(BadParams, match=r"Unknown priority 'urgent'\. Priorities: low, medium, high"):
            await house.look("a", "urgent")


async def test_it_works_only_for_people_and_only_as_the_recipe_allows(opened: Any) -> None:
    async with yard(opened) as house:
        with pytest.raises(NotAuthenticated):
            await house.look("a", asker="nobody")
        await house.recipe(whitelist=["help/*"])
        id = await house.look("a")
        failed = await house.reached(id, "failed")
        assert "bench/look" in failed.error
        assert house.bench.started == []
        (record,) = [one for one in await house.driver.ledger() if one["door"] == "subagent"]
        assert (record["caller"], record["behalf"], record["status"]) == ("guide", "owner", "refused")


async def test_a_stopped_sub_agent_takes_no_requests(opened: Any) -> None:
    async with yard(opened) as house:
        await house.sub.close()
        with pytest.raises(Conflict, match="is stopped"):
            await house.look("a")
