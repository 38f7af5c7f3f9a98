"""An outside agent takes part in a room, as far as the recipe goes (R9.5), and two talk in a room of their own."""

from __future__ import annotations

import asyncio
import json

import pytest

from doorward.rooms.feed import PresenceChanged

TALK = {
    "recipeId": "talk",
    "displayName": "Talk",
    "strategy": {"aiCommands": {"enabled": True, "whitelist": ["room/*", "data/list"], "maxCommandsPerMinute": 1_000}},
}


@pytest.fixture
async def lab(driver):
    await driver.owner("recipe/put", id="talk", text=json.dumps(TALK))
    await driver.owner("room/create", name="lab", recipe="talk")
    await driver.owner("room/join", name="lab", member="helper", kind="ai")
    return driver


class Arrival:
    """Waits until somebody looks at the lab."""

    def __init__(self, driver):
        self._come = asyncio.Event()
        self._leave = driver.house.services.live.follow("local", "lab", self._told)

    def _told(self, notice):
        if isinstance(notice, PresenceChanged) and notice.here:
            self._come.set()

    async def wait(self):
        await self._come.wait()
        self._leave()


async def as_agent(driver, command, **params):
    return await driver.ask(command, room="lab", params={"name": "lab", **params})


async def test_an_agent_waits_hears_answers_and_waits_on(lab):
    arrival = Arrival(lab)
    waiting = asyncio.ensure_future(as_agent(lab, "room/wait", seconds=50))
    await arrival.wait()
    who = {one["member"]: one["here"] for one in (await lab.owner("room/who", name="lab")).result["items"]}
    await lab.owner("room/say", name="lab", text="Are you there?")
    heard = (await waiting).result
    assert ([one["text"] for one in heard["items"]], who) == (["Are you there?"], {"helper": True, "owner": False})
    await as_agent(lab, "room/say", text="I am.")
    own = (await as_agent(lab, "room/wait", after=heard["next"], seconds=0)).result
    assert (own["items"], own["next"]) == ([], heard["next"] + 1)
    assert (await lab.ask("room/wait", room="lab", params={"after": 0, "seconds": 0})).result["items"] == heard["items"]
    edited = heard["items"][0]["id"]
    await lab.owner("room/edit", name="lab", message=edited, text="Are you well?")
    changed = (await as_agent(lab, "room/wait", after=own["next"], seconds=0)).result
    assert [(one["id"], one["text"]) for one in changed["items"]] == [(edited, "Are you well?")]
    assert lab.house.services.presence.present_members("local", "lab") == set()


async def test_waiting_can_be_cancelled_and_ends_for_whoever_is_taken_out(lab):
    services, arrival = lab.house.services, Arrival(lab)
    waiting = asyncio.ensure_future(as_agent(lab, "room/wait", seconds=50))
    await arrival.wait()
    (execution,) = [one for one in services.executions if one.call.command.name == "room/wait"]
    await lab.owner("execution/cancel", execution=execution.call.id)
    assert (await waiting).code == "cancelled"
    assert services.presence.present_members("local", "lab") == set()
    await lab.owner("user/create", id="anna", access="read")
    await lab.owner("room/join", name="lab", member="anna")
    token = await lab.token("anna-laptop", user="anna", kind="human", access="read")
    arrival = Arrival(lab)
    outside = asyncio.ensure_future(lab.ask("room/wait", token=token, room="", params={"name": "lab", "seconds": 50}))
    await arrival.wait()
    await lab.owner("room/leave", name="lab", member="anna")
    await lab.owner("room/say", name="lab", text="Now we are alone.")
    assert (await outside).code in ("not_found", "failed")


async def test_an_agent_speaks_in_its_room_only_and_changes_only_its_own(lab):
    await lab.owner("room/join", name="general", member="helper", kind="ai")
    elsewhere = await lab.ask("room/say", room="lab", params={"name": "general", "text": "x"})
    owners = (await lab.owner("room/say", name="lab", text="mine")).result["message"]
    edited = await as_agent(lab, "room/edit", message=owners, text="x")
    taken = await as_agent(lab, "room/delete", message=owners)
    own = (await as_agent(lab, "room/say", text="my own")).result["message"]
    assert (await as_agent(lab, "room/edit", message=own, text="still my own")).code == "ok"
    assert [elsewhere.code, edited.code, taken.code] == ["not_permitted"] * 3


async def test_a_room_of_two_is_found_again_and_nobody_else_gets_in_or_learns_of_it(lab):
    await lab.owner("user/create", id="anna", access="full")
    made = (await lab.owner("room/direct", member="anna")).result
    token = await lab.token("anna-laptop", user="anna", kind="human", access="full")
    found = (await lab.ask("room/direct", token=token, room="", params={"member": "owner"})).result
    assert (made["room"], found["room"], made["direct"]) == ("direct-anna-owner", "direct-anna-owner", True)
    await lab.owner("room/say", name=made["room"], text="between us")
    await lab.owner("user/create", id="ben", access="full")
    ben = await lab.token("ben-laptop", user="ben", kind="human", access="full")
    shown = await lab.ask("data/list", token=ben, room="", params={"collection": "messages"})
    joined = await lab.ask("room/join", token=ben, room="", params={"name": made["room"], "member": "ben"})
    agent = await lab.ask("data/list", room="lab", params={"collection": "messages"})
    third = await lab.ask("room/join", by="", room="", params={"name": made["room"], "member": "ben"})
    taken = await lab.ask("room/create", by="", room="", params={"name": "direct-ben-owner", "recipe": "talk"})
    alone = await lab.ask("room/direct", by="", room="", params={"member": "owner"})
    nobody = await lab.ask("room/direct", by="", room="", params={"member": "nobody-at-all"})
    assert "between us" not in shown.text + agent.text
    assert [one.code for one in (joined, third, taken, alone)] == ["not_found", "conflict", "bad_params", "bad_params"]
    assert nobody.code == "not_found"
    assert lab.house.services.rooms.get("local", "direct-ben-owner") is None


async def test_a_member_leaves_by_themselves_and_takes_nobody_else_along(lab):
    for id in ("anna", "ben"):
        await lab.owner("user/create", id=id, access="read")
        await lab.owner("room/join", name="lab", member=id)
    token = await lab.token("anna-laptop", user="anna", kind="human", access="read")
    other = await lab.ask("room/leave", token=token, room="", params={"name": "lab", "member": "ben"})
    own = await lab.ask("room/leave", token=token, room="", params={"name": "lab", "member": "anna"})
    assert (other.code, own.code) == ("not_permitted", "ok")
    assert set(lab.house.services.rooms.get("local", "lab").members) == {"owner", "helper", "ben"}


async def test_a_creation_is_not_undone_over_what_was_said_since(lab):
    made = await lab.owner("room/create", name="den", recipe="talk")
    await lab.owner("room/say", name="den", text="hello")
    undone = await lab.ask("undo", by="", room="", params={"execution": made.call})
    assert (undone.code, "room/archive" in undone.message) == ("conflict", True)
