"""What a persona does when somebody says something to it."""

from __future__ import annotations

import pytest
from conftest import Driver
from persona_house import speaking

pytestmark = pytest.mark.anyio


async def test_a_persona_runs_a_command_sees_the_result_and_answers(driver: Driver) -> None:
    async with speaking(driver, "I look.\nEXECUTE: data/list --collection=rooms", "There is one room.") as house:
        await house.say("How many rooms do we have?")
        assert (await house.said("guide"))[-2:] == ["I look.", "There is one room."]
        (card,) = await house.cards()
        assert (card.command, card.state, card.code) == ("data/list", "done", "ok")
        assert "general" in card.summary
        assert "general" in house.model.shown[1].turns[-1].text
        (record,) = await house.answers_in_turn()
        assert (record["caller"], record["kind"], record["behalf"], record["room"]) == ("guide", "ai", "", "general")
