"""What is done and said in a room of two is the two's own (R9.5): nobody else learns of it by any way there is."""

from __future__ import annotations

import json
import logging
from typing import Any

import msgspec
import pytest

from doorward.core.model import Credential, Outcome, Request

log = logging.getLogger("doorward.agents")


class People:
    """Anna talks with others alone; Bob has full access to everything else, and the owner is root."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.tokens: dict[str, str] = {}

    async def begin(self) -> None:
        for name, access in (("anna", "edit"), ("carl", "read"), ("bob", "full")):
            await self.driver.owner("user/create", id=name, name=name.title(), access=access)
            self.tokens[name] = await self.driver.token(name, user=name, kind="human", access=access)

    async def ask(self, by: str, command: str, **params: Any) -> Outcome:
        outcome: Outcome
        if by == "owner":
            outcome = await self.driver.ask(command, by="", room="", params=params)
        else:
            outcome = await self.driver.ask(command, room="", token=self.tokens[by], params=params)
        return outcome

    async def direct(self, other: str) -> str:
        return str((await self.ask("anna", "room/direct", member=other)).result["room"])

    async def audit(self, by: str, **where: Any) -> list[dict[str, Any]]:
        items: list[dict[str, Any]]
        items = (await self.ask(by, "data/list", collection="audit", filter=where, limit=100)).result["items"]
        return items


@pytest.fixture
async def people(driver: Any) -> People:
    people = People(driver)
    await people.begin()
    return people


async def as_guide(driver: Any, room: str, params: dict[str, Any]) -> None:
    """The guide lists something, because Anna asked it to."""
    credential = Credential(persona="guide", asker="anna", room=room)
    asked = Request(command="data/list", credential=credential, door="chat", room=room, params=params)
    assert (await driver.house.gate.handle(asked)).status == "done"


def told(outcome: Outcome) -> str:
    return json.dumps([outcome.result, outcome.message], default=str)


async def test_nobody_else_learns_with_whom_somebody_talks_alone(people: People) -> None:
    room = await people.direct("guide")
    await as_guide(people.driver, room, {"collection": "rooms"})
    log.warning("a turn of guide in %s went wrong", room)
    for by in ("bob", "owner"):
        for command, params in (
            ("persona/list", {}),
            ("persona/show", {"id": "guide"}),
            ("recipe/preview", {"id": people.driver.house.services.settings.rooms.direct_recipe}),
            ("recipe/diff", {"id": people.driver.house.services.settings.rooms.direct_recipe}),
            ("ai/report", {}),
            ("event/list", {}),
            ("room/list", {}),
            ("approval/list", {}),
            ("execution/list", {}),
            ("debug/logs", {}),
            ("recipe/preview", {"id": "support", "inRoom": "nowhere"}),
        ):
            assert room not in told(await people.ask(by, command, **params)), (by, command)
    for command, params in (
        ("recipe/diff", {"id": "support", "inRoom": room}),
        ("recipe/preview", {"id": "support", "inRoom": room}),
        ("audit/timeline", {"inRoom": room}),
        ("token/create", {"name": "x", "rooms": [room]}),
        ("room/show", {"name": room}),
    ):
        there = await people.ask("bob", command, **params)
        nowhere = await people.ask("bob", command, **json.loads(json.dumps(params).replace(room, "direct-no-body")))
        assert there.code == nowhere.code == "not_found", command
        assert told(there).replace(room, "direct-no-body") == told(nowhere)


async def test_nobody_else_reads_in_the_ledger_what_two_said_to_each_other(people: People) -> None:
    room = await people.direct("carl")
    await people.ask("anna", "room/say", name=room, text="between us: zebra")
    await people.ask("anna", "room/show", name="nowhere")
    for by in ("bob", "owner"):
        everything = json.dumps(await people.audit(by))
        query = await people.ask(by, "data/query", sql="SELECT params, note FROM audit")
        assert "zebra" not in everything + told(query)
        assert room not in everything + told(query)
        assert [one["params"] for one in await people.audit(by, command="room/direct")] == [None, None]
    own = await people.audit("anna", command="room/say", phase="start")
    assert [one["params"]["text"] for one in own] == ["between us: zebra"]


async def test_an_agent_of_one_of_the_two_reads_nothing_of_it_either(people: People) -> None:
    room = await people.direct("carl")
    await people.ask("anna", "room/say", name=room, text="between us: zebra")
    await people.driver.owner("room/join", name="general", member="anna")
    agent = await people.driver.token("annas-agent", user="anna", kind="ai", access="edit")
    for collection in ("audit", "messages", "rooms", "executions"):
        found = await people.driver.ask("data/list", token=agent, params={"collection": collection, "limit": 100})
        assert found.status == "done"
        assert "zebra" not in told(found)
        assert room not in told(found)


async def test_root_sees_that_something_ran_there_and_not_with_what(people: People) -> None:
    room = await people.direct("guide")
    await as_guide(people.driver, room, {"collection": "rooms", "limit": 77})
    (record,) = await people.audit("owner", caller="guide")
    assert (record["command"], record["onBehalfOf"], record["params"]) == ("data/list", "anna", None)
    assert await people.audit("bob", caller="guide") == []
    (own,) = await people.audit("anna", caller="guide")
    assert own["params"]["limit"] == 77
    for collection in ("executions", "approvals"):
        found = await people.ask("bob", "data/list", collection=collection, limit=100)
        assert room not in told(found)


async def test_trying_a_name_does_not_tell_whether_there_is_such_a_room(people: People) -> None:
    room = await people.direct("carl")
    records = []
    for name in (room, "direct-anna-nobody"):
        await people.ask("bob", "room/show", name=name)
        record = max(await people.audit("bob", command="room/show", caller="bob"), key=lambda one: one["id"])
        records.append({key: record[key] for key in ("room", "params", "status", "code")})
    assert records[0] == {**records[1], "params": {"name": room}}


async def test_nobody_else_stops_an_ai_there(people: People) -> None:
    room = await people.direct("guide")
    for by in ("bob", "owner"):
        assert (await people.ask(by, "persona/stop", id="guide", name=room)).code == "not_permitted"
    assert (await people.ask("anna", "persona/stop", id="guide", name=room)).status == "done"


async def test_nobody_else_takes_back_what_the_two_changed(people: People) -> None:
    made = await people.ask("anna", "room/direct", member="carl")
    assert (await people.ask("owner", "undo", execution=made.call)).code == "not_found"
    assert people.driver.house.services.rooms.get("local", made.result["room"]) is not None


async def test_a_room_that_only_has_such_a_name_is_not_taken_for_one_of_two(people: People) -> None:
    rooms = people.driver.house.services.rooms
    general = rooms.require("local", "general")
    await rooms.create(msgspec.structs.replace(general, id="direct-anna-carl", name="Old", version=1))
    refused = await people.ask("anna", "room/direct", member="carl")
    assert refused.code == "conflict"
    assert "not a direct room" in refused.message
