"""Personas are files: checked, kept in their last good version, put into the rooms that they name (R9.1)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from doorward.config.settings import ModelSettings, Settings
from doorward.core.events import PersonaLoaded, PersonaRejected, RoomChanged
from doorward.rooms.personas.persona import BadPersona, parse_persona
from waiting import PATIENCE

Opened = Callable[..., AbstractAsyncContextManager[Any]]


def text(id: str, **fields: Any) -> str:
    return json.dumps({"personaId": id, "displayName": id.title(), **fields})


def members(driver: Any, room: str = "general") -> set[str]:
    found = driver.house.services.rooms.get("local", room)
    return set(found.members) if found is not None else set()


def folder(driver: Any) -> Path:
    return driver.house.home.personas


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        (b"", "", "empty"),
        (b'{"personaId": "a", "personaId": "b"}', "", "twice"),
        (text("other").encode(), "personaId", "the file's name"),
        (text("owner").encode(), "personaId", "role"),
        (text("ada", acess="read").encode(), "acess", "did you mean 'access'"),
        (text("ada", access="root").encode(), "access", "read, edit, full"),
        (text("ada", rooms=["Lab"]).encode(), "rooms[0]", "small letters"),
        (text("ada", answerTokens=9_000).encode(), "answerTokens", "at most half"),
        (text("ada", displayName="A\u202eda").encode(), "displayName", "control characters"),
        (text("ada", model="a b").encode(), "model", "provider:model"),
    ],
)
def test_a_persona_that_is_not_valid_is_refused_with_file_field_and_reason(
    body: bytes, field: str, reason: str
) -> None:
    file = "owner.json" if field == "personaId" and b'"owner"' in body else "ada.json"
    with pytest.raises(BadPersona) as caught:
        parse_persona(body, file)
    assert caught.value.field == field
    assert reason in caught.value.message
    assert file in caught.value.message


def test_everything_but_the_names_has_a_default() -> None:
    persona = parse_persona(text("ada").encode(), "ada.json")
    assert (persona.model, persona.access, persona.rooms) == ("house", "edit", ())
    assert persona.caller.on_behalf_of == ""


async def test_a_new_house_has_a_guide_in_its_first_room_and_a_removed_one_stays_removed(opened: Opened) -> None:
    async with opened() as driver:
        (guide,) = (await driver.owner("persona/list")).result["items"]
        assert (guide["id"], guide["rooms"], len(guide["suggestions"])) == ("guide", ["general"], 3)
        assert "guide" in members(driver)
        await driver.owner("persona/remove", id="guide")
        assert "guide" not in members(driver)
    async with opened() as driver:
        assert (await driver.owner("persona/list")).result["items"] == []


async def test_a_bad_file_keeps_the_last_good_version_across_a_restart_and_says_what_is_wrong(opened: Opened) -> None:
    async with opened() as driver:
        events: list[PersonaRejected] = []
        driver.house.services.events.subscribe(events.append, PersonaRejected)
        (folder(driver) / "guide.json").write_text('{"personaId": "guide"}')
        await driver.house.services.personas.load()
        assert [one.persona for one in events] == ["guide"]
    async with opened() as driver:
        listed = (await driver.owner("persona/list")).result
        assert [one["name"] for one in listed["items"]] == ["Guide"]
        assert "displayName" in listed["problems"]["guide.json"]
        shown = (await driver.owner("persona/show", id="guide")).result
        assert shown["file"]["displayName"] == "Guide"
        assert "displayName" in shown["problem"]
        assert "guide" in members(driver)


async def test_a_changed_file_moves_its_persona_and_what_people_changed_since_stays(opened: Opened) -> None:
    async with opened() as driver:
        await driver.owner("room/create", name="lab", recipe="support")
        await driver.owner("room/create", name="hall", recipe="support")
        await driver.owner("persona/put", id="ada", text=text("ada", rooms=["general", "lab"]))
        assert "ada" in members(driver) & members(driver, "lab")
        await driver.owner("persona/put", id="ada", text=text("ada", rooms=["lab", "hall"]))
        assert "ada" not in members(driver)
        assert "ada" in members(driver, "lab") & members(driver, "hall")
        await driver.owner("room/leave", name="lab", member="ada")
    async with opened() as driver:
        assert "ada" not in members(driver, "lab")
        assert "ada" in members(driver, "hall")


async def test_a_room_that_does_not_exist_is_said_and_joined_when_it_comes(opened: Opened) -> None:
    async with opened() as driver:
        put = await driver.owner("persona/put", id="ada", text=text("ada", rooms=["later", "never"]))
        assert put.result["awaited"] == ["later", "never"]
    async with opened() as driver:
        joined = asyncio.Event()

        def heard(event: RoomChanged) -> None:
            if "ada" in members(driver, event.room):
                joined.set()

        driver.house.services.events.subscribe(heard, RoomChanged)
        await driver.owner("room/create", name="later", recipe="support")
        await asyncio.wait_for(joined.wait(), PATIENCE)
        await driver.house.services.personas.memberships.join_new_rooms()
        assert (await driver.owner("persona/show", id="ada")).result["persona"]["awaited"] == ["never"]


async def test_no_file_puts_a_persona_into_a_room_of_two(driver: Any) -> None:
    await driver.owner("user/create", id="anna", access="read")
    room = (await driver.owner("room/direct", member="anna")).result["room"]
    params = {"id": "ada", "text": text("ada", rooms=["general", room])}
    refused = await driver.ask("persona/put", by="", room="", params=params)
    assert (refused.code, "rooms[1]" in refused.message) == ("bad_params", True)
    await driver.house.services.personas.memberships.apply_changes({"guide": ([], [room])})
    assert members(driver, room) == {"anna", "owner"}


async def test_a_closed_room_is_joined_when_it_is_open_again(driver: Any) -> None:
    await driver.owner("room/create", name="lab", recipe="support")
    await driver.owner("room/archive", name="lab")
    put = await driver.owner("persona/put", id="ada", text=text("ada", rooms=["lab"]))
    assert (put.result["awaited"], "ada" in members(driver, "lab")) == (["lab"], False)
    await driver.owner("room/reopen", name="lab")
    await driver.house.services.personas.memberships.join_new_rooms()
    assert "ada" in members(driver, "lab")


async def test_changes_of_personas_are_shown_before_and_can_be_undone(driver: Any) -> None:
    body = text("ada", bio="First.", rooms=["general"])
    tried = await driver.ask("persona/put", by="", room="", params={"id": "ada", "text": body}, dry_run=True)
    assert tried.result["effect"] == {"before": None, "after": json.loads(body), "remarks": []}
    assert "ada" not in members(driver)
    made = await driver.owner("persona/put", id="ada", text=body)
    changed = await driver.owner("persona/put", id="ada", text=text("ada", bio="Second."))
    assert "ada" not in members(driver)
    await driver.owner("undo", execution=changed.call)
    assert (await driver.owner("persona/show", id="ada")).result["file"]["bio"] == "First."
    assert "ada" in members(driver)
    late = await driver.ask("undo", by="", room="", params={"execution": changed.call})
    assert late.status == "failed"
    undone = await driver.owner("undo", execution=made.call)
    assert "ada" not in members(driver)
    await driver.owner("undo", execution=undone.call)
    assert "ada" in members(driver)


async def test_only_a_person_with_root_changes_personas(driver: Any) -> None:
    for by in ("helper", "guide"):
        refused = await driver.ask("persona/put", by=by, params={"id": "ada", "text": text("ada")})
        assert refused.status == "refused"
    await driver.owner("user/create", id="bob", access="edit")
    token = await driver.token("bobs", user="bob", kind="human", access="edit")
    refused = await driver.ask("persona/remove", room="", token=token, params={"id": "guide"})
    assert refused.code == "not_permitted"


async def test_another_tenant_sees_no_persona(driver: Any) -> None:
    await driver.owner("user/create", id="eve", access="root", tenant="others")
    token = await driver.token("eves", user="eve", kind="human", access="root", tenant="others")
    listed = await driver.ask("persona/list", room="", token=token)
    assert listed.result == {"items": [], "problems": {}}
    (folder(driver) / "canary.json").write_text('{"personaId": "canary", "bio": 1}')
    await driver.house.services.personas.load()
    assert "canary.json" in (await driver.owner("persona/list")).result["problems"]
    assert (await driver.ask("persona/list", room="", token=token)).result["problems"] == {}
    shown = await driver.ask("persona/show", room="", token=token, params={"id": "guide"})
    assert shown.code == "not_found"


async def test_an_edited_file_takes_effect_at_once(driver: Any) -> None:
    loaded = asyncio.Event()
    driver.house.services.events.subscribe(lambda event: loaded.set(), PersonaLoaded)
    watching = asyncio.create_task(driver.house.services.personas.watch())
    try:
        (folder(driver) / "ada.json").write_text(text("ada", rooms=["general"]))
        await asyncio.wait_for(loaded.wait(), PATIENCE)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    assert driver.house.services.personas.get("local", "ada") is not None


async def test_a_persona_whose_model_nobody_provides_is_accepted_with_a_remark(driver: Any) -> None:
    given = {"id": "ada", "text": text("ada", model="nope:large", rooms=["general"])}
    tried = await driver.ask("persona/put", by="", room="", params=given, dry_run=True)
    saved = await driver.owner("persona/put", **given)
    (remark,) = saved.result["remarks"]
    assert remark.startswith("The fallback model house answers for it. There is no provider for the model 'nope:large'")
    assert tried.result["effect"]["remarks"] == saved.result["remarks"]
    listed = {one["id"]: one for one in (await driver.owner("persona/list")).result["items"]}
    assert (listed["ada"]["remarks"], listed["guide"]["remarks"]) == (saved.result["remarks"], [])
    assert listed["ada"]["state"] == saved.result["now"]
    assert saved.result["now"].startswith("its model cannot answer: There is no provider for the model 'nope:large'")
    assert listed["guide"]["state"] == "in force"
    by_agent = (await driver.ask("persona/list", room="general")).result["items"]
    assert [one["state"] for one in by_agent if one["id"] == "ada"] == ["its model cannot answer"]


async def test_where_no_other_model_answers_the_remark_says_that_it_cannot(opened: Any) -> None:
    async with opened(changes=Settings(models=ModelSettings(fallback=""))) as driver:
        given = {"id": "ada", "text": text("ada", model="nope:large", rooms=["general"])}
        (remark,) = (await driver.owner("persona/put", **given)).result["remarks"]
    assert remark.startswith("It cannot answer at the moment. There is no provider for the model 'nope:large'")
