"""Agents with effort: which conversation they answer, with which model, at what cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from persona_house import Line, Speaking, asked, speaking

from doorward.agents.effort.agent import EffortAgent
from doorward.agents.models.model import AnswerPiece, Prompt, TextPiece
from settling import settled
from waiting import until

pytestmark = pytest.mark.anyio


async def hire(house: Speaking, *rooms: str, **effort: Any) -> EffortAgent:
    """Put an agent with effort into rooms of its own."""
    for room in rooms or ("desk",):
        await house.driver.owner("room/create", name=room, recipe="read-only-research")
    await house.persona("worker", rooms=list(rooms or ("desk",)), effort={"subAgent": False, **effort})
    await settled(house.company)
    agent: EffortAgent = house.house.effort._agents["worker"]
    return agent


def answer_after(house: Speaking, seconds: float, text: str) -> Callable[[Prompt], AsyncGenerator[AnswerPiece, None]]:
    """A model that takes some time for its answer."""

    async def answer(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        house.driver.clock.advance(seconds)
        yield TextPiece(text)

    return answer


def teach(house: Speaking, *answers: Line) -> None:
    house.model.answers[:] = answers


async def status(house: Speaking) -> dict[str, Any]:
    (found,) = (await house.driver.owner("effort/status", agent="worker")).result["items"]
    return dict(found)


async def talks(house: Speaking) -> dict[str, dict[str, Any]]:
    found = (await house.driver.owner("conversation/list", agent="worker")).result["items"]
    return {one["room"]: one for one in found}


async def said(house: Speaking, room: str = "desk") -> list[str]:
    return [one.text for one in await house.messages(room) if one.sender == "worker" and one.text]


async def test_two_seconds_of_thinking_cost_four_and_time_gives_them_back(driver: Any) -> None:
    async with speaking(driver) as house:
        agent = await hire(house)
        teach(house, answer_after(house, 2.0, "Good morning."))
        await house.say("hello", name="desk")
        assert await said(house) == ["Good morning."]
        assert (await status(house))["energy"]["spent"] == 4.0
        assert agent.level == 96.0
        driver.clock.advance(3.0)
        assert agent.level == 99.0
        assert (await talks(house))["desk"]["energy"] == 4.0
        assert (await talks(house))["desk"]["state"] == "answered"


async def test_an_idle_agent_asks_no_model_and_runs_no_cycle(driver: Any) -> None:
    async with speaking(driver) as house:
        agent = await hire(house)
        await house.say("hello", name="desk")
        cycles, shown = agent.cycles, len(house.model.shown)
        driver.clock.advance(3_600.0)
        await asyncio.sleep(0.05)
        assert (agent.cycles, len(house.model.shown)) == (cycles, shown)
        assert agent._timer is None


async def test_failed_work_costs_too(driver: Any) -> None:
    async with speaking(driver) as house:
        agent = await hire(house)

        async def fail(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
            driver.clock.advance(5.0)
            raise RuntimeError("the model broke")
            yield TextPiece("")

        teach(house, fail)
        await house.say("hello", name="desk")
        assert agent.level == 90.0


async def test_the_dearest_affordable_model_answers_and_answers_get_shorter(driver: Any) -> None:
    async with speaking(driver) as house:
        agent = await hire(house, models=["cheap", "dear"])
        agent.costs.restore("cheap", [1.0])
        agent.costs.restore("dear", [30.0])
        assert (await status(house))["model"] == "dear"
        await house.say("hello", name="desk")
        longest = house.model.shown[-1].most_tokens
        teach(house, answer_after(house, 40.0, "That took long."))  # 80 of 100
        await house.say("and now", name="desk")
        assert (await status(house))["model"] == "cheap"
        await house.say("and again", name="desk")
        assert house.model.shown[-1].most_tokens == int(longest * 0.5)
        assert "Your energy is 20 of 100 (low)" in house.model.shown[-1].instructions


async def test_the_oldest_conversation_comes_first_and_a_priority_counts_as_age(driver: Any) -> None:
    async with speaking(driver) as house:
        agent = await hire(house, "first", "second", "urgent", atOnce=1)
        order: list[str] = []

        async def answer(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
            order.append(prompt.turns[-1].text)
            yield TextPiece("Done.")

        teach(house, *[answer] * 3)
        driver.clock.advance(1.0)
        persona = agent.persona
        assert persona is not None
        await house.house.effort._energy.charge(persona.caller, "tired", 110.0, kind="model")
        for room in ("first", "second", "urgent"):
            await house.say(f"@worker {room}", name=room)
            driver.clock.advance(0.1)
        assert order == []  # no energy, no work
        await driver.owner("conversation/priority", room="urgent", priority="high")
        driver.clock.advance(100.0)
        agent.wake()
        await settled(house.company)
        assert [one.removeprefix("@worker ") for one in order] == ["urgent", "first", "second"]


async def test_a_long_call_in_one_conversation_does_not_hold_up_another(driver: Any) -> None:
    async with speaking(driver) as house:
        await hire(house, "slow", "quick")
        held, reached = asyncio.Event(), asyncio.Event()

        async def wait(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
            reached.set()
            await held.wait()
            yield TextPiece("At last.")

        teach(house, wait, "At once.")
        await driver.owner("room/say", text="take your time", name="slow")
        await reached.wait()
        await driver.owner("room/say", text="quick please", name="quick")
        await until(lambda: said(house, "quick"))
        assert await said(house, "slow") == []
        held.set()
        await settled(house.company)
        assert await said(house, "slow") == ["At last."]


async def test_a_conversation_can_wait_for_energy_but_not_for_more_than_there_can_be(driver: Any) -> None:
    async with speaking(driver) as house:
        agent = await hire(house)
        teach(house, [asked("await_energy", "1", level=1_000)], "Now I have the energy.")
        persona = agent.persona
        assert persona is not None
        await house.house.effort._energy.charge(persona.caller, "tired", 50.0, kind="model")
        await house.say("hello", name="desk")
        found = (await talks(house))["desk"]
        assert (found["state"], found["note"]) == ("awaiting_energy", "It waits until the energy is 100.")
        driver.clock.advance(50.0)
        agent.wake()
        await settled(house.company)
        assert await said(house) == ["Now I have the energy."]


async def test_a_snoozed_conversation_goes_on_when_its_time_is_over(driver: Any) -> None:
    async with speaking(driver) as house:
        agent = await hire(house)
        teach(house, [asked("snooze_conversation", "1", minutes=5)], "Good morning again.")
        await house.say("hello", name="desk")
        assert (await talks(house))["desk"]["state"] == "snoozed"
        agent.wake()
        await settled(house.company)
        assert await said(house) == []
        driver.clock.advance(300.0)
        agent.wake()
        await settled(house.company)
        assert await said(house) == ["Good morning again."]


@pytest.mark.parametrize(
    ("tool", "given", "why"),
    [
        ("snooze_conversation", {"minutes": 1_441}, "minutes must be a number from 1 to 1440; given 1441"),
        ("await_energy", {"level": "much"}, "level must be a number"),
        ("select_conversation", {"conversation": "gone"}, "has no conversation 'gone'"),
        ("mcp_request_server_addition", {"serverName": "x", "purpose": "y"}, "no sub-agent"),
        ("respond", {"content": " "}, "content must be a text that is not empty"),
    ],
)
async def test_a_wrong_call_of_an_own_tool_is_corrected(
    driver: Any, tool: str, given: dict[str, Any], why: str
) -> None:
    async with speaking(driver) as house:
        await hire(house)
        teach(house, [asked(tool, "1", **given)], [asked("respond", "2", content="Then so.")])
        await house.say("hello", name="desk")
        assert why in house.model.shown[-1].turns[-1].text
        assert await said(house) == ["Then so."]


async def test_a_model_that_only_thinks_is_stopped(driver: Any) -> None:
    async with speaking(driver) as house:
        await hire(house)
        teach(house, *[[asked("think", str(number), thought="hm")] for number in range(20)])
        await house.say("hello", name="desk")
        assert len(house.model.shown) == 5
        assert await said(house) == ["I thought about it and found no answer. Please ask me in other words."]


async def test_another_conversation_is_selected_before_this_one_but_not_for_ever(driver: Any) -> None:
    async with speaking(driver) as house:
        agent = await hire(house, "first", "second", atOnce=1)
        held = asyncio.Event()

        async def wait(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
            await held.wait()
            async for piece in choose(prompt):
                yield piece

        async def choose(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
            yield asked("select_conversation", "1", conversation="second")

        teach(house, wait, "Second answered.", "First answered.")
        await driver.owner("room/say", text="one", name="first")
        await until(lambda: len(house.model.shown) == 1)
        await driver.owner("room/say", text="two", name="second")
        await until(lambda: "second" in agent.conversations)
        held.set()
        await settled(house.company)
        assert await said(house, "second") == ["Second answered."]
        assert await said(house, "first") == ["First answered."]


async def test_a_budget_of_nothing_allows_one_last_answer_and_then_a_person_is_asked(driver: Any) -> None:
    async with speaking(driver) as house:
        await hire(house, budget=0)
        teach(house, answer_after(house, 1.0, "The last one."), "One more.")
        await house.say("first", name="desk")
        await house.say("second", name="desk")
        spoken = await said(house)
        assert spoken[0] == "The last one."
        assert spoken[1].startswith("I pause here:")
        assert (await talks(house))["desk"]["state"] == "out_of_budget"
        await driver.owner("effort/budget", scope="conversation", id="worker@desk", unit="energy", amount=50)
        await settled(house.company)
        assert (await said(house))[-1] == "One more."


@pytest.mark.parametrize("amount", [-1, float("nan"), float("inf"), "much"])
async def test_a_budget_that_is_no_amount_is_refused(driver: Any, amount: Any) -> None:
    async with speaking(driver) as house:
        await hire(house)
        params = {"scope": "agent", "id": "worker", "unit": "energy", "amount": amount}
        refused = await driver.ask("effort/budget", by="", params=params)
        assert refused.status == "refused"
        assert refused.code == "bad_params"


async def test_conversations_from_outside_rooms_get_a_room_and_an_answer(driver: Any) -> None:
    async with speaking(driver) as house:
        await hire(house)
        teach(house, "Here I am.")
        begun = (await driver.owner("conversation/start", agent="worker", text="are you there", priority="high")).result
        await settled(house.company)
        found = (await talks(house))[begun["room"]]
        assert (found["state"], found["priority"], found["asker"]) == ("answered", "high", "owner")
        assert await said(house, begun["room"]) == ["Here I am."]
        ended = (await driver.owner("conversation/end", room=begun["room"])).result
        assert ended["state"] == "ended"


async def test_a_restart_keeps_the_energy_and_answers_what_was_left(driver: Any) -> None:
    async with speaking(driver) as house:
        agent = await hire(house)
        persona = agent.persona
        assert persona is not None
        await house.house.effort._energy.charge(persona.caller, "tired", 120.0, kind="model")
        await house.say("hello", name="desk")
        assert (await talks(house))["desk"]["state"] == "open"
    driver.clock.advance(30.0)
    async with speaking(driver, "Sorry for the wait.") as house:
        agent = house.house.effort._agents["worker"]
        await settled(house.company)
        assert agent.level == 10.0
        assert await said(house) == ["Sorry for the wait."]


async def test_an_answer_that_a_killed_process_waited_for_is_charged_once(driver: Any) -> None:
    async with speaking(driver) as house:
        agent = await hire(house)
        agent.costs.restore("scripted", [6.0])
        await agent.note_answer("answer:cut", "desk", "scripted")  # as a process that is killed now leaves it
    for _ in range(2):
        async with speaking(driver) as house:
            assert house.house.effort._agents["worker"].level == 96.0  # the usual cost is not known any more
