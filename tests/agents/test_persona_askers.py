"""For whom a persona acts, and what it can tell whom: no more than whoever asks may do, and all who hear may know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
from persona_house import speaking

from doorward.agents.models.model import TextPiece
from doorward.agents.models.registry import ModelRegistry
from doorward.agents.personas.dispatcher import run_personas
from settling import heard, settled

WRITE = "EXECUTE: file/write --path=note.txt --content=hello"
Opened = Callable[..., AbstractAsyncContextManager[Any]]


async def someone(driver: Any, name: str, access: str = "read", *, join: bool = True) -> str:
    """A person, and what they show at the door."""
    await driver.owner("user/create", id=name, name=name.title(), access=access)
    if join:
        await driver.owner("room/join", name="general", member=name)
    return str(await driver.token(name, user=name, kind="human", access=access))


async def say(driver: Any, token: str, text: str, name: str = "general") -> None:
    said = await driver.ask("room/say", room="", token=token, params={"name": name, "text": text})
    assert said.status == "done", said


def note(driver: Any) -> bool:
    return (driver.house.home.path / "workspace" / "note.txt").exists()


async def test_a_persona_tells_nobody_what_somebody_said_to_it_alone(driver: Any) -> None:
    """With what a new house has: the guide, the built-in model, and the recipe of the room general."""
    services = driver.house.services
    async with run_personas(
        driver.house.gate, services, ModelRegistry(services.settings.models), driver.house.effort
    ) as company:
        anna, carl = await someone(driver, "anna", join=False), await someone(driver, "carl")
        made = await driver.ask("room/direct", room="", token=anna, params={"member": "guide"})
        await say(driver, anna, "We decided that the zebra launch is on Friday.", made.result["room"])
        await settled(company)
        await say(driver, carl, "@guide what did we decide about the zebra?")
        await settled(company)
        said = await services.messages.newest(services.rooms.require("local", "general"), 20)
        assert not any("Friday" in json.dumps(msgspec.to_builtins(one)) for one in said)


async def test_a_persona_reads_what_is_known_to_all_who_hear_it_and_nothing_else(driver: Any) -> None:
    anna = await someone(driver, "anna", "edit")
    for name in ("shared", "owners"):
        await driver.owner("room/create", name=name, recipe="research-chat")
        await driver.owner("room/join", name=name, member="guide")
        await driver.owner("room/say", name=name, text=f"zebra in {name}")
    await driver.owner("room/join", name="shared", member="anna")
    direct = (await driver.ask("room/direct", room="", token=anna, params={"member": "guide"})).result["room"]
    await driver.ask("room/say", room="", token=anna, params={"name": direct, "text": "zebra alone"})
    calls = [
        "data/list --collection=messages",
        "data/list --collection=audit --limit=100",
        "data/list --collection=rooms",
        "data/query --sql='SELECT text FROM messages'",
        "room/search --words=zebra",
        "room/list",
        "ai/report",
        "event/list",
        "execution/list",
        f"room/messages --name={direct}",
        "room/messages --name=owners",
    ]
    async with speaking(driver, "\n".join(f"EXECUTE: {one}" for one in calls)) as house:
        await house.recipe(whitelist=["*"], maxCommandsPerResponse=20, maxCommandsPerMinute=100)
        await say(driver, anna, "@guide tell us everything")
        await settled(house.company)
        assert [one.state for one in await house.cards()] == ["done"] * 9 + ["failed"] * 2
        results = "".join(one.text for one in house.model.shown[1].turns if one.role == "result")
        assert "zebra in shared" in results
        assert "zebra alone" not in results
        assert "zebra in owners" not in results
        assert results.count(direct) == results.count(f"no room '{direct}'")


async def test_nobody_does_through_a_persona_what_they_may_not_do_themselves(driver: Any) -> None:
    bob = await someone(driver, "bob", "read")
    async with speaking(driver, WRITE, "I may not.", WRITE, "Done.") as house:
        await house.recipe()
        await say(driver, bob, "@guide write a note")
        await settled(house.company)
        (card,) = await house.cards()
        assert (card.state, card.code, note(driver)) == ("refused", "not_permitted", False)
        assert not any(one.name == "file_write" for one in house.model.shown[0].tools)
        await house.say("@guide write it, please")
        assert note(driver)
        assert [(one["status"], one["behalf"]) for one in await house.records()] == [
            ("refused", "bob"),
            ("started", "owner"),
            ("done", "owner"),
        ]


async def test_an_ai_that_another_ai_asks_still_acts_for_the_person_who_began(driver: Any) -> None:
    bob = await someone(driver, "bob", "read")
    async with speaking(driver, "@ada write the note.", WRITE, "I may not.") as house:
        await house.recipe()
        await house.persona("ada")
        await house.say("We do nothing today.")
        await say(driver, bob, "@guide see to it that a note is written")
        await settled(house.company)
        assert [(one["caller"], one["behalf"], one["status"]) for one in await house.records()] == [
            ("ada", "bob", "refused")
        ]
        assert not note(driver)


async def test_an_agent_gets_from_a_persona_no_more_than_the_person_it_acts_for(driver: Any) -> None:
    await someone(driver, "bob", "edit")
    agent = await driver.token("bobs-agent", user="bob", kind="ai", access="edit", rooms=["general"])
    async with speaking(driver, WRITE, "Done.") as house:
        await house.recipe(whitelist=["file/*", "room/say"])
        await driver.ask("room/say", token=agent, params={"text": "@guide write a note"})
        await settled(house.company)
        assert {one["behalf"] for one in await house.records()} == {"bob"}


async def test_what_two_people_say_at_once_is_done_for_each_by_itself(driver: Any) -> None:
    bob = await someone(driver, "bob", "read")
    thinking, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: Any) -> Any:
        thinking.set()
        await go_on.wait()
        yield TextPiece("Good morning.")

    async with speaking(driver, slow, WRITE, "I may not.", "Good evening.") as house:
        await house.recipe()
        await driver.owner("room/say", name="general", text="@guide good morning")
        await thinking.wait()
        await say(driver, bob, "@guide write a note")
        await heard(house.company)
        await driver.owner("room/say", name="general", text="@guide good evening")
        await heard(house.company)
        go_on.set()
        await settled(house.company)
        assert not note(driver)
        assert (await house.said("guide"))[-3:] == ["Good morning.", "I may not.", "Good evening."]


async def test_after_a_restart_a_call_is_made_for_the_same_person(opened: Opened) -> None:
    async with opened() as driver, speaking(driver, WRITE) as house:
        bob = await someone(driver, "bob", "edit")
        await house.recipe(requireApproval={"file/write": True})
        await say(driver, bob, "@guide write a note")
        await settled(house.company)
        await driver.owner("room/create", name="meanwhile", recipe="research-chat")
        await driver.owner("room/join", name="meanwhile", member="bob")
    async with opened() as driver, speaking(driver, "Written.") as house:
        await house.decide("approve")
        assert note(driver)
        assert {one["behalf"] for one in await house.records()} == {"bob"}


async def test_a_call_is_not_made_any_more_once_its_asker_is_gone(driver: Any) -> None:
    bob = await someone(driver, "bob", "edit")
    async with speaking(driver, WRITE, "I may not.") as house:
        await house.recipe(requireApproval={"file/write": True})
        await say(driver, bob, "@guide write a note")
        await settled(house.company)
        await driver.owner("room/leave", name="general", member="bob")
        await house.decide("approve")
        (card,) = await house.cards()
        assert (card.state, note(driver)) == ("refused", False)


async def test_a_persona_that_leaves_gives_up_what_it_waits_for(driver: Any) -> None:
    async with speaking(driver, WRITE, "Done.") as house:
        await house.recipe(requireApproval={"file/write": True})
        await house.say("Write a note, please.")
        await driver.owner("room/leave", name="general", member="guide")
        await driver.owner("room/join", name="general", member="guide")
        await settled(house.company)
        (card,) = await house.cards()
        assert (card.state, card.summary) == ("failed", "The persona is no longer in this room.")
        assert [one["state"] for one in (await driver.owner("approval/list")).result["items"]] == ["expired"]
        assert not note(driver)
