"""Who a persona is at the gate: itself, in its rooms, for whoever asked it, and nobody else under its name."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import doorward
from doorward.config.settings import EnergySettings, Settings
from doorward.core.classification import Access
from doorward.core.model import Credential, Outcome, Request


async def ask(driver: Any, credential: Credential, room: str = "general", command: str = "data/list") -> Outcome:
    return await driver.house.gate.handle(
        Request(command=command, credential=credential, door="chat", room=room, params={"collection": "rooms"})
    )


def asked(by: str = "owner", persona: str = "guide", room: str = "general", **more: Any) -> Credential:
    return Credential(persona=persona, asker=by, room=room, **more)


async def test_a_persona_acts_in_its_rooms_by_its_own_membership_only(driver: Any) -> None:
    assert (await ask(driver, asked())).status == "done"
    await driver.owner("room/create", name="lab", recipe="research-chat")
    assert (await ask(driver, asked(), room="")).code == "not_permitted"
    for room in ("general", "lab"):
        outside = await ask(driver, asked(room=room), room="lab")
        assert (outside.code, outside.rule) == ("not_permitted", "room lab: members only")


async def test_only_a_persona_that_is_there_and_nothing_beside_it_is_believed(driver: Any) -> None:
    assert (await ask(driver, asked(persona="nobody"))).code == "not_authenticated"
    token = await driver.token("helper", rooms=["general"])
    for more in ({"owner": True}, {"token": token}, {"speak_as": "helper"}, {"kind": "service"}, {"browser": "x"}):
        assert (await ask(driver, asked(**more))).status == "refused"


async def test_a_persona_does_nothing_without_a_person_who_asked_and_may_act_there(driver: Any) -> None:
    for nobody in ("", "helper", "guide"):
        assert (await ask(driver, asked(nobody))).code == "not_authenticated"
    await driver.owner("user/create", id="bob", access="edit")
    assert "bob, for whom you act" in (await ask(driver, asked("bob"))).message
    await driver.owner("room/join", name="general", member="bob")
    assert (await ask(driver, asked("bob"))).status == "done"
    await driver.owner("user/change", id="bob", active=False)
    assert (await ask(driver, asked("bob"))).code == "not_authenticated"


async def test_a_persona_knows_what_all_people_who_hear_it_may_know(driver: Any) -> None:
    await driver.owner("user/create", id="bob", access="edit")
    await driver.owner("room/direct", member="bob")
    for name in ("lab", "hall"):
        await driver.owner("room/create", name=name, recipe="research-chat")
    gate = driver.house.gate
    assert gate.caller(asked()).rooms == ("general", "hall", "lab")
    await driver.owner("room/join", name="lab", member="bob")
    await driver.owner("room/join", name="general", member="bob")
    assert gate.caller(asked()).rooms == ("general", "lab")
    assert gate.caller(asked()).access is Access.EDIT
    assert gate.caller(asked(room="nowhere")).rooms == ()


async def test_nobody_else_carries_the_name_of_a_persona_and_no_persona_that_of_another(driver: Any) -> None:
    assert "is a persona" in (await ask(driver, Credential(owner=True, speak_as="guide"))).message
    for command, params in (
        ("token/create", {"name": "guide"}),
        ("user/create", {"id": "guide", "access": "read"}),
    ):
        refused = await driver.ask(command, by="", room="", params=params)
        assert refused.status in ("refused", "failed")
        assert "persona" in refused.message
    await driver.token("helper")
    await driver.owner("user/create", id="bob", access="read")
    for name, reason in (("helper", "agent with a token"), ("bob", "a person"), ("terminal", "reserved for doors")):
        text = json.dumps({"personaId": name, "displayName": "X"})
        refused = await driver.ask("persona/put", by="", room="", params={"id": name, "text": text})
        assert reason in refused.message


def test_no_door_can_say_that_it_speaks_for_a_persona() -> None:
    source = Path(doorward.__file__).parent
    naming = [
        file.relative_to(source).parts[0]
        for file in source.rglob("*.py")
        if "Credential(" in (text := file.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Credential"
        and ({one.arg for one in node.keywords} & {"persona", "asker", "room", None} or len(node.args) > 0)
    ]
    assert set(naming) == {"agents", "gate"}


async def test_a_persona_has_a_pool_of_energy_of_its_own(opened: Any) -> None:
    async with opened(changes=Settings(energy=EnergySettings(enabled=True))) as driver:
        text = {"personaId": "ada", "displayName": "Ada", "energy": {"start": 0, "recoveryPerSecond": 0.5}}
        await driver.owner("persona/put", id="ada", text=json.dumps({**text, "rooms": ["general"]}))
        tired = await ask(driver, asked(persona="ada"))
        assert (tired.code, tired.retry_after) == ("out_of_energy", 0.002)
        assert (await ask(driver, asked())).status == "done"
        listed = (await driver.owner("persona/list")).result["items"]
        assert {one["id"]: one["energy"]["status"] for one in listed} == {"ada": "urgent", "guide": "high"}
