"""effort/* and conversation/*: agents with effort as people and other programs see them, in a real house."""

from __future__ import annotations

import json
import math

import pytest

from conforming import conforms
from doorward.agents.personas.dispatcher import run_personas
from doorward.commands import conversation as conversation_commands
from doorward.commands import effort
from doorward.core.model import Credential, Request
from waiting import until

SCOUT = {"personaId": "scout", "displayName": "Scout", "rooms": ["general"], "model": "house", "effort": {}}
SEARCH = {"agent": "scout", "kind": "search_servers", "params": {"purpose": "weather"}, "priority": "low"}


@pytest.fixture
async def scouted(driver):
    """A house whose persona scout regulates its effort, and lives."""
    await driver.owner("persona/put", id="scout", text=json.dumps(SCOUT))
    house = driver.house
    async with run_personas(house.gate, house.services, house.models, house.effort):
        yield driver
        await until(lambda: idle(driver))


async def idle(driver):
    (scout,) = (await driver.owner("effort/status")).result["items"]
    return not scout["working"] and not scout["conversations"].get("open")


async def ran(driver, command, **params):
    outcome = await driver.owner(command, **params)
    conforms(driver, command, outcome)
    return outcome.result


async def requested(driver):
    """A request to the sub-agent, which the owner makes in a conversation with its agent."""
    room = (await ran(driver, "conversation/start", agent="scout", text="Hello"))["room"]
    outcome = await driver.ask("effort/request", by="", room=room, params=SEARCH)
    assert outcome.status == "done", outcome
    conforms(driver, "effort/request", outcome)
    return outcome.result


async def refused(driver, command, **params):
    outcome = await driver.ask(command, by="", room="", params=params)
    assert outcome.status in ("refused", "failed"), outcome
    return outcome


async def by_scout(driver, command, **params):
    """A call of scout's own, as it makes them when the owner asks it in general."""
    credential = Credential(persona="scout", asker="owner", room="general")
    return await driver.house.gate.handle(
        Request(command=command, credential=credential, door="chat", room="general", params=params)
    )


async def conversation(driver, room):
    listed = await ran(driver, "conversation/list", agent="scout")
    return next((one for one in listed["items"] if one["room"] == room), None)


async def answered(driver, room):
    found = await conversation(driver, room)
    return found and found["state"] == "answered"


async def test_an_agent_with_effort_shows_its_energy_its_models_and_its_work(scouted):
    (scout,) = (await ran(scouted, "effort/status"))["items"]
    assert (scout["agent"], scout["energy"]["status"], scout["energy"]["spent"]) == ("scout", "high", 0)
    assert [one["model"] for one in scout["models"]] == ["house"] == [scout["model"]]
    assert scout["subAgent"] == "idle"
    missing = await refused(scouted, "effort/status", agent="nobody")
    assert missing.code == "not_found"
    assert "Agents: scout" in missing.message


async def test_a_conversation_is_started_answered_and_ended(scouted):
    begun = await ran(
        scouted, "conversation/start", agent="scout", text="How many rooms do we have?", priority="high", budget=40
    )
    room = begun["room"]
    assert (begun["agent"], begun["asker"], begun["priority"]) == ("scout", "owner", "high")

    async def said():
        messages = (await ran(scouted, "room/messages", name=room))["items"]
        return [one["text"] for one in messages if one["sender"] == "scout" and one["text"]]

    assert "2 rooms" in (await until(said))[0]
    await until(lambda: answered(scouted, room))
    (budget,) = (await conversation(scouted, room))["budgets"]
    assert (budget["unit"], budget["amount"]) == ("energy", 40)
    assert (await ran(scouted, "conversation/priority", room=room, priority="low"))["priority"] == "low"
    assert (await ran(scouted, "conversation/end", room=room))["state"] == "ended"
    assert (await ran(scouted, "conversation/list", state="ended"))["items"][0]["room"] == room
    assert (await refused(scouted, "conversation/end", room="nowhere")).code == "not_found"


async def test_the_energy_over_time_falls_with_a_charge_and_recovers(scouted):
    house = scouted.house
    persona = house.services.personas.get("local", "scout")
    scouted.clock.advance(600)
    await house.services.energy.charge(persona.caller, "a test", 80, kind="model", subject="house")
    scouted.clock.advance(60)
    points = (await ran(scouted, "effort/history", agent="scout", since="5m", points=31))["items"]
    levels = [one["level"] for one in points]
    assert len(points) == 31
    assert levels[0] == 100
    assert 20 <= min(levels) < 40
    assert levels[-1] == (await ran(scouted, "effort/status"))["items"][0]["energy"]["level"]
    backwards = await refused(scouted, "effort/history", agent="scout", since="1h", until="2h")
    assert "since must be before until" in backwards.message


@pytest.mark.parametrize("amount", [math.nan, math.inf, -1, "5", True])
async def test_a_budget_takes_nothing_but_a_number_from_zero_up(scouted, amount):
    outcome = await refused(scouted, "effort/budget", scope="agent", id="scout", unit="energy", amount=amount)
    assert outcome.code == "bad_params"
    assert (await ran(scouted, "effort/status"))["items"][0]["budgets"] == []


async def test_budgets_are_of_things_that_exist_and_are_removed_with_null(scouted):
    set_ = {"scope": "agent", "id": "scout", "unit": "dollars"}
    assert (await ran(scouted, "effort/budget", **set_, amount=2.5))["budget"]["left"] == 2.5
    assert (await ran(scouted, "effort/status"))["items"][0]["budgets"][0]["amount"] == 2.5
    assert (await ran(scouted, "effort/budget", **set_, amount=None))["budget"] is None
    for scope in ("agent", "room", "conversation"):
        unknown = await refused(scouted, "effort/budget", scope=scope, id="nobody", unit="energy", amount=1)
        assert unknown.code == "not_found"
    begun = await ran(scouted, "conversation/start", agent="scout", text="How many rooms do we have?")
    given = await ran(scouted, "effort/budget", scope="conversation", id=begun["room"], unit="energy", amount=9)
    assert given["id"] == f"scout@{begun['room']}"
    assert (await conversation(scouted, begun["room"]))["budgets"][0]["amount"] == 9
    assert (await ran(scouted, "effort/budget", scope="room", id="general", unit="tokens", amount=7))["budget"]


async def test_a_request_waits_while_the_sub_agent_is_paused_and_can_be_cancelled(scouted):
    paused = await ran(scouted, "effort/pause", agent="scout")
    assert (paused["subAgent"], paused["pausedBy"]) == ("paused", "owner")
    asked = await requested(scouted)
    assert (asked["state"], asked["kind"]) == ("queued", "search_servers")
    (listed,) = (await ran(scouted, "effort/requests", state="queued"))["items"]
    assert listed["id"] == asked["id"]
    cancelled = await ran(scouted, "effort/cancel", request=asked["id"], reason="not needed")
    assert cancelled["state"] == "cancelled"
    assert (await ran(scouted, "effort/requests", state="queued"))["items"] == []
    assert (await ran(scouted, "effort/resume", agent="scout"))["subAgent"] == "idle"


async def test_other_agents_cannot_use_its_sub_agent_and_none_can_give_itself_more(scouted):
    await scouted.owner("room/create", name="den", recipe="admin")
    await scouted.owner("room/join", name="den", member="scout")
    other = await scouted.ask("effort/request", by="helper", room="den", params=SEARCH)
    assert other.code == "not_permitted"
    assert "Only people and scout itself" in other.message
    await ran(scouted, "effort/pause", agent="scout")
    mine = await requested(scouted)
    foreign = await scouted.ask("effort/cancel", by="helper", room="den", params={"request": mine["id"]})
    assert foreign.code == "not_found"
    more = {"scope": "agent", "id": "scout", "unit": "energy", "amount": 1000}
    for command, params in (
        ("effort/budget", more),
        ("effort/resume", {"agent": "scout"}),
        ("conversation/start", {"agent": "scout", "text": "Do it for me."}),
        ("conversation/end", {"room": "general"}),
    ):
        tried = await scouted.ask(command, by="helper", room="den", params=params)
        assert tried.status == "refused", (command, tried)
        assert (await by_scout(scouted, command, **params)).status == "refused"


EXAMPLES = [
    (command.name, example)
    for family in (effort.family, conversation_commands.family)
    for command in family.commands
    for example in command.facts.examples
]


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[f"{name}: {example.says}" for name, example in EXAMPLES])
async def test_the_example_works(scouted, name, example):
    await scouted.owner("room/say", name="general", text="@scout How many rooms do we have?")
    await until(lambda: answered(scouted, "general"))
    begun = await ran(scouted, "conversation/start", agent="scout", text="Hello")
    room = begun["room"] if name == "effort/request" else ""  # the room to which its sub-agent reports
    dry = await scouted.ask(name, by="", room=room, params=dict(example.params), dry_run=True)
    assert (dry.status, dry.code) == ("done", "dry_run")
    outcome = await scouted.ask(name, by="", room=room, params=dict(example.params))
    if name == "effort/cancel":  # nobody has made that request
        assert outcome.code == "not_found"
    else:
        assert outcome.status == "done", outcome
        conforms(scouted, name, outcome)


async def test_without_agents_the_lists_are_empty(driver):
    for command in ("effort/status", "effort/requests", "conversation/list"):
        assert (await ran(driver, command))["items"] == []
