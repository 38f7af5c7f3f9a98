"""Calls of personas that wait for a person: decided, denied, expired, and across restarts (R4.1, R4.3, R4.4)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from persona_house import Speaking, asked, speaking

from doorward.agents.models.model import AnswerPiece, TextPiece
from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, NoUndo
from doorward.rooms.feed import MessagePosted, RoomNotice, ThinkingChanged
from doorward.rooms.message import Card
from doorward.store import persona_calls
from settling import settled, time_told

WRITE = "EXECUTE: file/write --path=note.txt --content=hello"
Opened = Callable[..., AbstractAsyncContextManager[Any]]


async def parked(house: Speaking) -> None:
    await house.recipe(requireApproval={"file/write": True})
    await house.say("Write a note, please.")
    (card,) = await house.cards()
    assert (card.state, card.command, card.rule) == ("parked", "file/write", "recipe: requireApproval file/write")
    assert card.approval
    assert len(house.model.shown) == 1


def note(driver: Any) -> bool:
    return (driver.house.home.path / "workspace" / "note.txt").exists()


async def test_an_approved_call_runs_once_and_the_model_goes_on_with_its_result(driver: Any) -> None:
    notices: list[RoomNotice] = []
    driver.house.services.live.follow("local", "general", notices.append)
    async with speaking(driver, WRITE, "What now?") as house:
        await parked(house)
        assert not note(driver)
        await house.decide("approve")
        (card,) = await house.cards()
        assert (card.state, card.code) == ("done", "ok")
        assert note(driver)
        assert "Approved" in house.model.shown[-1].turns[-1].text
        assert (await house.said("guide"))[-1] == "What now?"
        assert [one["status"] for one in await house.records()] == ["parked", "started", "done"]
        assert await persona_calls.all_open(driver.house.services.store) == []
    states = [one.state for one in notices if isinstance(one, ThinkingChanged)]
    assert states == ["thinking", "waiting", "thinking", "idle"]
    cards = [part for one in notices if isinstance(one, MessagePosted) for part in one.message.attachments]
    assert [one.state for one in cards if isinstance(one, Card)] == ["waiting", "parked", "waiting", "done"]


async def test_a_call_inside_the_approved_one_waits_on_the_same_card_as_text_and_goes_on(driver: Any) -> None:
    append = "EXECUTE: vfs/append --path=note.txt --content=eggs --newLine=true"
    async with speaking(driver, append, "Appended.") as house:
        await house.recipe(requireApproval={"file/write": True}, whitelist=["vfs/*", "file/*"])
        await driver.owner("file/write", path="note.txt", content="milk")
        await house.say("Append eggs, please.")
        (card,) = await house.cards()
        assert (card.state, card.command, card.summary) == (
            "parked",
            "vfs/append",
            "file/write is waiting for approval.",
        )
        shown = (await driver.owner("approval/show", id=card.approval)).result
        assert shown["params"] | {"content": "milk\neggs", "encoding": "utf-8"} == shown["params"]
        assert "+eggs" in shown["difference"]
        await house.decide("approve")
        (card,) = await house.cards()
        assert (card.state, card.command, card.code) == ("done", "vfs/append", "ok")
        told = house.model.shown[-1].turns[-1].text
        assert told.startswith("Approved. vfs/append: done.")
        assert told.endswith("Only file/write was run, as approved. The rest of vfs/append was not.")
        assert (await house.said("guide"))[-1] == "Appended."
        assert (driver.house.home.path / "workspace" / "note.txt").read_text() == "milk\neggs"
        assert [one["state"] for one in (await driver.owner("approval/list")).result["items"]] == ["used"]
        assert await persona_calls.all_open(driver.house.services.store) == []


async def test_of_several_calls_inside_one_that_wait_only_the_one_that_would_run_can_be_approved(driver: Any) -> None:
    one, two = (f"$(file/write --path={name}.txt --content={name})" for name in "ab")
    script = f"EXECUTE: shell/script --script='echo {one} {two}'"
    async with speaking(driver, script, "Half of it.") as house:
        await house.recipe(requireApproval={"file/write": True}, whitelist=["*"])
        await house.say("Write both, please.")
        states = [one["state"] for one in (await driver.owner("approval/list")).result["items"]]
        assert sorted(states) == ["expired", "pending"]
        await house.decide("approve")
        (card,) = await house.cards()
        assert card.state == "done"
        assert [one.name for one in (driver.house.home.path / "workspace").glob("?.txt")] == ["a.txt"]


async def test_a_denied_call_does_not_run_and_the_model_is_told_by_whom(driver: Any) -> None:
    async with speaking(driver, WRITE, "What now?") as house:
        await parked(house)
        await house.decide("deny")
        (card,) = await house.cards()
        assert (card.state, card.code) == ("refused", "not_approved")
        assert "Denied by owner" in card.summary
        assert "Denied by owner" in house.model.shown[-1].turns[-1].text


async def test_the_model_and_the_card_get_the_reason_of_a_denial(driver: Any) -> None:
    async with speaking(driver, WRITE, "What now?") as house:
        await parked(house)
        await house.decide("deny", reason="Write it below notes.")
        (card,) = await house.cards()
        assert card.summary == "Denied by owner: Write it below notes."
        assert card.summary in house.model.shown[-1].turns[-1].text
        assert not note(driver)


async def test_a_turn_goes_on_in_the_order_in_which_it_went_with_each_result_once(driver: Any) -> None:
    first: list[AnswerPiece] = [TextPiece("Let me look."), asked("data_list", "a", collection="rooms")]
    second: list[AnswerPiece] = [TextPiece("Let me write."), asked("file_write", "b", path="note.txt", content="hello")]
    async with speaking(driver, "Hm.", first, second, "Yes, I wait.", "Written.") as house:
        await house.recipe(requireApproval={"file/write": True})
        await house.say("Are you there?")
        await house.say("Write a note, please.")
        await house.say("Do you wait?")
        await house.say("approve")
        turns = house.model.shown[-1].turns
        assert note(driver)
    assert [turn.text.partition("\n")[0] or [call.name for call in turn.calls] for turn in turns[1:]] == [
        "Are you there?",
        "Hm.",
        "Do you wait?",
        "Yes, I wait.",
        "Write a note, please.",
        "Let me look.",
        ["data_list"],
        "data/list: done.",
        "Let me write.",
        ["file_write"],
        "Approved. file/write: done.",
    ]
    calls = [call for turn in turns for call in turn.calls]
    assert [call.id for call in calls] == [turn.answers for turn in turns if turn.role == "result"]
    assert json.loads(calls[-1].arguments) == {"path": "note.txt", "content": "hello"}


async def test_of_two_that_wait_each_goes_on_with_its_own_question_and_nothing_of_the_other(driver: Any) -> None:
    one: list[AnswerPiece] = [TextPiece("One first."), asked("file_write", "a", path="note.txt", content="one")]
    two: list[AnswerPiece] = [TextPiece("Now two."), asked("file_write", "b", path="two.txt", content="two")]
    async with speaking(driver, one, two, "One is written.", "Two is written.") as house:
        await house.recipe(requireApproval={"file/write": True})
        await house.say("Write one, please.")
        await house.say("Write two, please.")
        await house.decide("approve")
        await house.decide("approve")
        shown = [prompt.turns for prompt in house.model.shown[2:]]
    asked_last = [[turn.text for turn in turns if turn.role == "user"][-1] for turns in shown]
    assert asked_last == ["Write one, please.", "Write two, please."]
    ends = [[turn.text.partition("\n")[0] for turn in turns[-3:]] for turns in shown]
    assert ends == [[words, "", "Approved. file/write: done."] for words in ("One first.", "Now two.")]


async def test_what_people_did_not_approve_is_not_asked_of_them_again_in_the_turn(driver: Any) -> None:
    again = "EXECUTE: file/write --content='hello' --path=note.txt"
    native: list[AnswerPiece] = [asked("file_write", "b", path="note.txt", content="hello")]
    other = "EXECUTE: file/write --path=other.txt --content=hello"
    async with speaking(driver, WRITE, again, native, other, "I leave it.") as house:
        await parked(house)
        await house.decide("deny")
        assert [card.state for card in await house.cards()] == ["refused", "parked"]
        shown = house.model.shown
        assert "Do not make this call again" in shown[1].turns[-1].text
        assert all("people did not approve this same call" in one.turns[-1].text for one in shown[2:4])
        assert "Do something else" not in str(await house.cards())


async def test_what_nobody_decides_about_in_time_is_told_as_a_no(driver: Any, clock: Any) -> None:
    async with speaking(driver, WRITE, "What now?") as house:
        await parked(house)
        clock.advance(31)
        await time_told(house.company)
        await settled(house.company)
        (card,) = await house.cards()
        assert "nobody decided in time" in card.summary
        assert (await house.said("guide"))[-1] == "What now?"
        assert not note(driver)


async def test_a_turn_goes_on_once_when_all_of_its_calls_are_decided(driver: Any) -> None:
    both = f"{WRITE}\nEXECUTE: file/write --path=other.txt --content=hello"
    async with speaking(driver, both, "One of two.") as house:
        await house.recipe(requireApproval={"file/write": True})
        await house.say("Write two notes, please.")
        assert [card.state for card in await house.cards()] == ["parked", "parked"]
        await house.decide("approve")
        assert len(house.model.shown) == 1
        await house.decide("deny")
        assert [card.state for card in await house.cards()] == ["done", "refused"]
        assert len(house.model.shown) == 2
        assert (await house.said("guide"))[-1] == "One of two."


async def test_a_yes_counts_for_nothing_when_the_recipe_has_changed_since(driver: Any) -> None:
    async with speaking(driver, WRITE, "I may not.") as house:
        await parked(house)
        await house.recipe(whitelist=["data/list"])
        await house.decide("approve")
        (card,) = await house.cards()
        assert (card.state, card.code) == ("refused", "not_permitted")
        assert not note(driver)


async def test_a_card_that_people_took_back_does_not_stop_what_they_decide(driver: Any) -> None:
    async with speaking(driver, WRITE, "Written.") as house:
        await parked(house)
        (shown,) = [one for one in await house.messages() if one.attachments]
        await driver.house.services.messages.delete(shown, "owner")
        await house.decide("approve")
        assert note(driver)
        assert (await house.said("guide"))[-1] == "Written."
        assert await persona_calls.all_open(driver.house.services.store) == []


async def test_the_room_goes_on_while_a_call_waits_and_a_person_can_stop_the_waiting(driver: Any) -> None:
    async with speaking(driver, WRITE, "Yes, I wait.") as house:
        await parked(house)
        await house.say("Do you wait?")
        assert (await house.said("guide"))[-1] == "Yes, I wait."
        assert (await driver.owner("persona/stop", id="guide", name="general")).result["stopped"] is True
        (card,) = await house.cards()
        assert (card.state, card.summary) == ("failed", "owner stopped it.")
        assert [one["state"] for one in (await driver.owner("approval/list")).result["items"]] == ["expired"]
        assert not note(driver)


async def test_after_a_restart_what_was_decided_meanwhile_resumes_once(opened: Opened) -> None:
    async with opened() as driver, speaking(driver, WRITE, "What now?") as house:
        await parked(house)
    async with opened() as driver:
        waiting = (await driver.owner("approval/list")).result["items"]
        await driver.owner("approval/approve", id=waiting[0]["id"])
        async with speaking(driver, "Written.") as house:
            await settled(house.company)
            assert note(driver)
            assert (await house.cards())[0].state == "done"
            assert (await house.said("guide"))[-1] == "Written."
    async with opened() as driver, speaking(driver) as house:
        await settled(house.company)
        assert [one["status"] for one in await house.records()] == ["parked", "started", "done"]
        assert house.model.shown == []


async def test_after_a_restart_what_still_waits_goes_on_waiting(opened: Opened, clock: Any) -> None:
    async with opened() as driver, speaking(driver, WRITE, "What now?") as house:
        await parked(house)
    async with opened() as driver, speaking(driver, "Written.", "Too late.") as house:
        assert house.model.shown == []
        assert (await house.cards())[0].state == "parked"
        await house.decide("approve")
        assert note(driver)
        assert (await house.said("guide"))[-1] == "Written."


async def test_the_card_of_a_call_that_a_killed_process_left_open_says_so(opened: Opened) -> None:
    async with opened() as driver:
        async with speaking(driver, "EXECUTE: data/list --collection=rooms", "Done.") as house:
            await house.say("Rooms?")
            (message,) = [one for one in await house.messages() if one.attachments]
        left = persona_calls.OpenCall(
            card=message.id, tenant="local", room="general", persona="guide", turn="t", rounds=1, at=1.0
        )
        await driver.house.services.store.write(persona_calls.put(left))
    async with opened() as driver, speaking(driver) as house:
        (card,) = await house.cards()
        assert (card.state, card.summary) == ("failed", "Doorward stopped before the call finished.")
        assert await persona_calls.all_open(driver.house.services.store) == []


async def test_a_house_that_stops_ends_calls_and_their_cards_say_so(opened: Opened) -> None:
    started = asyncio.Event()
    family = Family("trial", category="tests")

    @family.command(
        "wait",
        tier=Tier.CODE,
        effects=Effects.WRITE,
        access=Access.READ,
        safety=Safety.SAFE,
        cost=1,
        timeout=60,
        undo=NoUndo("it changes nothing"),
        examples=[Example("wait", {})],
    )
    async def wait(ctx: Context) -> None:
        """Wait for what never comes."""
        started.set()
        await asyncio.Event().wait()

    async with opened(families=[family]) as driver:
        async with speaking(driver, "EXECUTE: trial/wait") as house:
            await house.recipe(whitelist=["trial/*"])
            await driver.owner("room/say", text="Wait, please.", name="general")
            await started.wait()
        cards = await house.cards()
        assert [(one.state, one.summary) for one in cards] == [("failed", "Doorward stopped before the call finished.")]
        assert [one["code"] for one in await house.records()][-1] == "cancelled"
        assert await persona_calls.all_open(driver.house.services.store) == []
