"""What a persona does when somebody says something to it (R8.5, R9.1, R9.2, R9.4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from persona_house import asked, speaking

from doorward.agents.models.model import AnswerPiece, ModelFailed, NativeCall, Prompt, TextPiece
from doorward.rooms.feed import DraftUpdated, RoomNotice, ThinkingChanged
from settling import heard, settled


async def test_a_persona_runs_a_command_sees_the_result_and_answers(driver: Any) -> None:
    notices: list[RoomNotice] = []
    driver.house.services.live.follow("local", "general", notices.append)
    async with speaking(driver, "I look.\nEXECUTE: data/list --collection=rooms", "There is one room.") as house:
        await house.say("How many rooms do we have?")
        assert (await house.said("guide"))[-2:] == ["I look.", "There is one room."]
        (card,) = await house.cards()
        assert (card.command, card.state, card.code) == ("data/list", "done", "ok")
        assert "general" in card.summary
        assert "general" in house.model.shown[1].turns[-1].text
        (record,) = await house.records()
        assert (record["caller"], record["kind"], record["behalf"], record["room"]) == (
            "guide",
            "ai",
            "owner",
            "general",
        )
    assert [one.state for one in notices if isinstance(one, ThinkingChanged)] == ["thinking", "idle"]
    drafts = [one for one in notices if isinstance(one, DraftUpdated)]
    assert drafts[-1].done
    assert not any("EXECUTE" in one.text for one in drafts)


async def test_what_goes_wrong_with_a_call_goes_back_to_the_model_and_never_ends_the_turn(driver: Any) -> None:
    async with speaking(driver) as house:
        house.model.answers = [
            [asked("room_create", "c1", name="lab", recipe="support"), asked("data_list", "c2", collectoin="rooms")],
            [NativeCall("c3", "data_list", '{"collection": '), asked("no_such_thing", "c4")],
            "EXECUTE: data/list --collection=rooms --collection",
            "I give up.",
        ]
        await house.say("Make a room, please.")
        assert (await house.said("guide"))[-1] == "I give up."
        results = {turn.answers: turn.text for turn in house.model.shown[-1].turns if turn.role == "result"}
        assert "not_permitted" in results["c1"]
        assert "collectoin" in results["c2"]
        assert "JSON object" in results["c3"]
        assert "no_such_thing" in results["c4"]
        assert [card.state for card in await house.cards()].count("refused") >= 3


async def test_a_model_that_only_talks_about_commands_is_told_once(driver: Any) -> None:
    async with speaking(driver, "I will use data/list now.", "I will use data/list now, really.") as house:
        await house.say("How many rooms?")
        assert (await house.said("guide"))[-1] == "I will use data/list now, really."
        assert len(house.model.shown) == 2
        assert "Nothing was run" in house.model.shown[1].turns[-1].text


async def test_a_turn_has_ten_rounds_and_then_says_so(driver: Any) -> None:
    calls = [f"EXECUTE: help/search --query=word{number}" for number in range(20)]
    async with speaking(driver, *calls) as house:
        await house.recipe(maxCommandsPerMinute=1000)
        await house.say("Search.")
        assert len(house.model.shown) == 10
        assert "10 times" in (await house.said("guide"))[-1]


async def test_of_four_thousand_calls_only_as_many_run_as_the_recipe_lets(driver: Any) -> None:
    flood = "\n".join(f"EXECUTE: help/search --query=w{number}" for number in range(4_000))
    async with speaking(driver, flood, [asked("help_search", f"c{n}", query=f"v{n}") for n in range(100)]) as house:
        await house.recipe()
        await house.say("Search.")
        records = await house.records()
        assert [one["status"] for one in records] == ["done"] * 3 + ["refused"] + ["done"] * 3 + ["refused"]
        assert len(await house.cards()) == 8
        told = [turn for turn in house.model.shown[1].turns if turn.role == "result"]
        assert "46 more calls of this answer were not made" in told[-2].text
        assert "3950 more" in told[-1].text
        natives = [turn.answers for turn in house.model.shown[2].turns if turn.role == "result" and turn.answers]
        assert natives == [f"c{n}" for n in range(100)]


async def test_ais_take_three_turns_for_one_message_of_a_person_and_never_answer_themselves(driver: Any) -> None:
    async with speaking(driver, *(["@guide and @second, what do you say?"] * 50)) as house:
        await house.persona("second")
        await house.say("@guide @second talk!")
        assert len(await house.said("guide")) + len(await house.said("second")) == 3 + len(house.greeting)
        await house.say("@guide go on")
        assert len(house.model.shown) == 6


async def test_a_model_that_fails_says_so_in_the_room_and_is_not_asked_again(driver: Any) -> None:
    failed = ModelFailed("down", "The provider x does not answer.")
    cut = [TextPiece("It is "), ModelFailed("cut", "The answer broke off.")]
    async with speaking(driver, [failed], cut, [TextPiece("  ")]) as house:
        await house.say("Is it up?")
        assert (await house.said("guide"))[-1] == "I cannot answer: The provider x does not answer."
        await house.say("And now?")
        assert (await house.said("guide"))[-1] == "It is\n\n(The answer broke off.)"
        await house.say("Say nothing.")
        assert (await house.said("guide"))[-1] == "(I have nothing to add.)"
        assert len(house.model.shown) == 3
        await house.persona("lost", model="missing")
        await house.say("@lost are you there?")
        assert (await house.said("lost")) == ["I cannot answer: There is no model 'missing'; valid: house."]


async def test_an_answer_that_never_ends_is_cut_and_the_room_reads_why(driver: Any) -> None:
    async with speaking(driver, [TextPiece("word " * 100_000)]) as house:
        await house.say("Tell me more.")
        text = (await house.said("guide"))[-1]
        assert text.endswith("\n\n(The answer was cut off after 200000 characters.)")


async def test_a_model_that_is_asked_too_often_is_waited_for_once(driver: Any) -> None:
    busy = ModelFailed("rate_limited", "The provider wants fewer questions.", 0.01)
    long = ModelFailed("rate_limited", "The provider wants no questions today.", 9_999.0)
    async with speaking(driver, [busy], "There.", [long]) as house:
        await house.say("Are you there?")
        assert (await house.said("guide"))[-1] == "There."
        await house.say("And now?")
        assert "no questions today" in (await house.said("guide"))[-1]
        assert len(house.model.shown) == 3


async def test_a_person_stops_a_model_that_never_ends_and_what_came_meanwhile_is_taken_up_after(driver: Any) -> None:
    begun = asyncio.Event()

    async def endless(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        yield TextPiece("One, ")
        begun.set()
        await asyncio.Event().wait()

    async with speaking(driver, endless, "I was asked something new.") as house:
        await driver.owner("room/say", text="Count, please.", name="general")
        await begun.wait()
        stopped = await driver.owner("persona/stop", id="guide", name="general")
        assert stopped.result["stopped"] is True
        assert (await house.said("guide"))[-1] == "One,\n\n(stopped here)\n(I was stopped by owner.)"
        assert (await driver.owner("persona/stop", id="guide", name="general")).result["stopped"] is False
        await house.say("Stop. What else?")
        assert (await house.said("guide"))[-1] == "I was asked something new."


async def test_every_message_during_a_turn_is_answered_in_its_own_turn(driver: Any) -> None:
    started, released = asyncio.Event(), asyncio.Event()

    async def slow(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        started.set()
        await released.wait()
        yield TextPiece("First.")

    async with speaking(driver, slow, "Second.", "Third.") as house:
        await driver.owner("room/say", text="One?", name="general")
        await started.wait()
        await driver.owner("room/say", text="Two?", name="general")
        await driver.owner("room/say", text="Three?", name="general")
        await heard(house.company)
        released.set()
        await settled(house.company)
        assert (await house.said("guide"))[-3:] == ["First.", "Second.", "Third."]
        asked = [[turn.text for turn in prompt.turns if turn.role == "user"] for prompt in house.model.shown]
        assert asked == [["One?"], ["One?", "Two?"], ["One?", "Two?", "Three?"]]


async def test_messages_beyond_the_queue_are_not_passed_over_in_silence(driver: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("doorward.agents.personas.worker._MAX_QUEUED", 1)
    started, released = asyncio.Event(), asyncio.Event()

    async def slow(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        started.set()
        await released.wait()
        yield TextPiece("First.")

    async with speaking(driver, slow, "Second.") as house:
        await driver.owner("room/say", text="One?", name="general")
        await started.wait()
        for text in ("Two?", "Three?", "Four?"):
            await driver.owner("room/say", text=text, name="general")
            await heard(house.company)
        released.set()
        await settled(house.company)
        untaken = "I did not take 2 more messages, because 1 were waiting. Please send them again."
        assert (await house.said("guide"))[-3:] == ["First.", "Second.", untaken]


async def test_nobody_speaks_in_an_archived_room_or_out_of_it(driver: Any) -> None:
    async with speaking(driver) as house:
        await driver.owner("room/leave", name="general", member="guide")
        await house.say("@guide are you there?")
        assert house.model.shown == []


async def test_what_breaks_is_said_in_the_room_and_the_next_turn_is_taken(driver: Any) -> None:
    async with speaking(driver, [ValueError("boom")], "Here again.") as house:
        await house.say("Hello?")
        assert "Something went wrong" in (await house.said("guide"))[-1]
        assert "boom" not in "".join(await house.said("guide"))
        await house.say("Hello?")
        assert (await house.said("guide"))[-1] == "Here again."
