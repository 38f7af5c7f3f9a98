"""Personas with small models, and answers of personas that stand on nothing."""

from __future__ import annotations

from typing import Any

from persona_house import Scripted, asked, speaking


class SmallScripted(Scripted):
    small = True
    constrains = True


async def test_a_persona_with_a_small_model_gets_a_short_prompt_and_short_results(driver: Any) -> None:
    async with speaking(driver) as house:
        house.model.__class__ = SmallScripted
        house.model.answers = [[asked("data_count", "c1", collection="rooms")], "There is 1 room."]
        await house.say("@guide how many rooms are there?")
        first, second = house.model.shown[-2:]
        assert (await house.said("guide"))[-1] == "There is 1 room."
    assert house.model.count(first.instructions) < 1_200
    assert first.shape is not None
    assert "known as @guide" in first.instructions
    assert "The request was: @guide how many rooms are there?" in second.turns[-1].text


async def test_an_answer_that_stands_on_nothing_is_sent_back_once_and_then_told_honestly(driver: Any) -> None:
    async with speaking(driver) as house:
        house.model.answers = ["I have deleted the room lab.", "I cannot delete rooms."]
        await house.say("@guide please delete the room lab")
        assert (await house.said("guide"))[-1] == "I cannot delete rooms."
        assert "no call of this turn changed anything" in house.model.shown[-1].turns[-1].text
        house.model.answers = ["I have deleted the room lab.", "I have deleted it."]
        await house.say("@guide please delete the room lab")
        assert (await house.said("guide"))[-1].startswith("I could not find out")
