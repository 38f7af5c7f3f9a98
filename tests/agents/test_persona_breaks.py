"""What becomes of a persona's work when it is stopped, when storing fails, and when Doorward ended in the middle."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from persona_house import Speaking, speaking

from doorward.agents.personas.worker import PersonaWorker
from doorward.core.errors import LedgerUnavailable
from doorward.gate.approval import Approval
from doorward.store import persona_calls
from doorward.store.sqlite import Statement
from settling import settled
from waiting import until

WRITE = "EXECUTE: file/write --path=note.txt --content=hello"
WAIT = "EXECUTE: room/wait --name=general --seconds=50"
FULL = LedgerUnavailable("The record could not be stored: the disk is full.")


def note(driver: Any) -> bool:
    return (driver.house.home.path / "workspace" / "note.txt").exists()


async def first_waits_second_runs(house: Speaking) -> None:
    """One answer of two calls: the first waits for a person while the second still runs."""
    await house.recipe(whitelist=["file/*", "room/wait"], requireApproval={"file/write": True})
    await house.driver.owner("room/say", text="Write a note, please.", name="general")

    async def both() -> bool:
        return sorted(one.state for one in await house.cards()) == ["parked", "running"]

    await until(both)


async def test_a_call_that_was_stopped_does_not_run_even_after_a_restart(driver: Any) -> None:
    async with speaking(driver, f"{WRITE}\n{WAIT}") as house:
        await first_waits_second_runs(house)
        await driver.owner("persona/stop", id="guide", name="general")
        assert "parked" not in [one.state for one in await house.cards()]
        assert await persona_calls.all_open(driver.house.services.store) == []
    async with speaking(driver) as house:
        assert [one["state"] for one in (await driver.owner("approval/list")).result["items"]] == ["expired"]
        await settled(house.company)
        assert not note(driver)


async def test_what_is_said_while_a_persona_is_stopped_before_it_began_is_answered(driver: Any) -> None:
    async with speaking(driver, "Here I am.") as house:
        (message,) = (await house.messages())[-1:]
        worker: PersonaWorker = house.company.find_worker("guide", "general")
        worker.add_message(message, "owner")
        stopping = asyncio.ensure_future(house.company.stop("guide", "general", "owner"))
        await asyncio.sleep(0)  # it is cancelled now, and has not ended yet
        worker.add_message(message, "owner")
        await stopping
        await settled(house.company)
        assert (await house.said("guide"))[-1] == "Here I am."
        assert len(house.model.shown) == 1


async def test_a_decision_while_a_call_is_looked_at_leaves_no_timer_behind(driver: Any) -> None:
    async with speaking(driver, WRITE, "Done.") as house:
        approvals = driver.house.services.approvals
        find = approvals.find
        looked, go_on = asyncio.Event(), asyncio.Event()

        async def slow(tenant: str, id: str) -> Approval:
            found: Approval = await find(tenant, id)
            if not looked.is_set():
                looked.set()
                await go_on.wait()
            return found

        approvals.find = slow
        await house.recipe(requireApproval={"file/write": True})
        await driver.owner("room/say", text="Write a note, please.", name="general")
        await looked.wait()
        approvals.find = find
        (waiting,) = (await driver.owner("approval/list")).result["items"]
        await driver.owner("approval/deny", id=waiting["id"])
        go_on.set()
        await settled(house.company)
        assert house.company._pending_calls._calls == {}
        assert house.company._pending_calls._expiry == {}


async def test_a_call_that_waits_is_heard_of_also_when_its_turn_broke_off(driver: Any) -> None:
    async with speaking(driver, f"{WRITE}\nEXECUTE: data/list --collection=rooms", "Done.") as house:
        await house.recipe(requireApproval={"file/write": True})
        messages = driver.house.services.messages
        post, cards = messages.post, 0

        async def full(*given: Any, **more: Any) -> Any:
            nonlocal cards
            cards += bool(more.get("attachments"))
            if more.get("attachments") and cards == 2:
                raise FULL
            return await post(*given, **more)

        messages.post = full
        await house.say("Write a note, please.")
        messages.post = post
        await house.decide("approve")
        assert [one.state for one in await house.cards()] == ["done"]
        assert note(driver)


async def test_a_call_whose_waiting_cannot_be_stored_runs_when_a_person_agrees(driver: Any) -> None:
    async with speaking(driver, WRITE, "Done.") as house:
        await house.recipe(requireApproval={"file/write": True})
        messages = driver.house.services.messages
        revise = messages.revise

        async def full(*_: Any, **__: Any) -> Any:
            raise FULL

        messages.revise = full
        await house.say("Write a note, please.")
        messages.revise = revise
        await house.decide("approve")
        assert [one.state for one in await house.cards()] == ["done"]
        assert note(driver)


async def test_an_approved_call_that_is_tried_once_more_would_be_found_after_a_crash(driver: Any) -> None:
    store, gate = driver.house.services.store, driver.house.gate
    handle = gate.handle
    while_it_ran: list[str] = []
    async with speaking(driver, WRITE, "Done.") as house:
        await house.recipe(requireApproval={"file/write": True})
        await house.say("Write a note, please.")
        (call,) = await persona_calls.all_open(store)
        await store.write(persona_calls.close(call.card))  # as being too fast the first time leaves it

        async def watched(request: Any, watch: Any = None) -> Any:
            if request.ticket:
                while_it_ran.extend(one.card for one in await persona_calls.all_open(store))
            return await handle(request, watch)

        gate.handle = watched
        await house.decide("approve")
        gate.handle = handle
        assert while_it_ran == [call.card]
        assert await persona_calls.all_open(store) == []
        assert note(driver)


async def test_personas_begin_and_later_work_also_when_nothing_can_be_stored_at_first(
    driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doorward.agents.personas.dispatcher._RETRY_SECONDS", 0.0)
    store = driver.house.services.store
    async with speaking(driver, WRITE) as house:
        await house.recipe(requireApproval={"file/write": True})
        await house.say("Write a note, please.")
    await store.write(Statement("UPDATE persona_calls SET approval = ''", ()))  # as if it had run when Doorward died
    write = store.write

    async def full(*_: Any, **__: Any) -> None:
        raise FULL

    store.write = full
    try:
        async with speaking(driver, "Here I am.") as house:
            store.write = write
            await house.say("@guide are you there?")
            assert (await house.said("guide"))[-1] == "Here I am."

            async def ended() -> bool:
                return [one.state for one in await house.cards()] == ["failed"]

            await until(ended)
    finally:
        store.write = write


async def test_what_was_said_right_before_doorward_ended_is_answered_once(driver: Any, clock: Any) -> None:
    await driver.owner("room/say", text="@guide are you there?", name="general")
    clock.advance(10)
    async with speaking(driver, "Here I am.") as house:
        await settled(house.company)
        assert await house.said("guide") == ["Here I am."]
    async with speaking(driver) as house:
        await settled(house.company)
        assert house.model.shown == []


async def test_what_was_said_long_ago_or_to_nobody_is_not_taken_up_at_the_beginning(driver: Any, clock: Any) -> None:
    await driver.owner("room/say", text="@guide are you there?", name="general")
    clock.advance(301)
    async with speaking(driver) as house:
        await settled(house.company)
        assert house.model.shown == []


async def test_a_defect_before_a_turn_is_logged_and_said(
    driver: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> bool:
        raise ValueError("boom")

    async with speaking(driver) as house:
        monkeypatch.setattr("doorward.agents.personas.dispatcher.should_answer", broken)
        with caplog.at_level(logging.ERROR):
            await house.say("Hello?")
        assert "Something went wrong" in (await house.said("guide"))[-1]
        assert "boom" in caplog.text
