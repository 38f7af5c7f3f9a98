"""Whoever answers for a room sees what agents and programs run there, and nobody else's business beside it."""

from __future__ import annotations

import asyncio

import pytest


async def looked(driver, token, execution):
    answers = [
        await driver.ask(f"execution/{command}", token=token, room="", params={"execution": execution})
        for command in ("status", "output")
    ]
    listed = await driver.ask("execution/list", token=token, room="", params={})
    return [answer.code for answer in answers], [item["execution"] for item in listed.result["items"]]


async def people(driver):
    """An admin and a mere member of the room, and somebody else whose agent is at work there."""
    for name, role in (("ann", "admin"), ("mel", "member"), ("sam", "member")):
        await driver.owner("user/create", id=name, access="full")
        await driver.owner("room/join", name="lab", member=name, role=role)
    return {
        name: await driver.token(f"{name}-laptop", user=name, kind="human", access="full")
        for name in ("ann", "mel", "sam")
    }


@pytest.mark.parametrize("live", [True, False])
async def test_an_admin_sees_and_reads_what_an_agent_of_another_runs_in_the_room(theatre, puppets, live):
    async with theatre() as driver:
        tokens = await people(driver)
        agent = await driver.token("sams-agent", user="sam", kind="ai", access="full")
        call = asyncio.create_task(driver.ask("puppet/change", token=agent, room="lab", params={"name": "one"}))
        puppet = await puppets.on_stage("one")
        puppet.say("at work")
        if not live:
            puppet.end()
            await call
        admin = await looked(driver, tokens["ann"], puppet.id)
        member = await looked(driver, tokens["mel"], puppet.id)
        if live:
            puppet.end()
        await call
    assert admin == (["ok", "ok"], [puppet.id])
    assert member == (["not_found", "not_found"], [])


async def test_an_admin_does_not_read_what_another_person_runs(theatre, puppets):
    async with theatre() as driver:
        tokens = await people(driver)
        call = asyncio.create_task(driver.ask("puppet/change", token=tokens["sam"], room="lab", params={"name": "one"}))
        puppet = await puppets.on_stage("one")
        puppet.say("mine")
        answer = await driver.ask("execution/output", token=tokens["ann"], room="", params={"execution": puppet.id})
        listed = await driver.ask("execution/list", token=tokens["ann"], room="", params={})
        puppet.end()
        await call
    assert answer.code == "not_found"
    assert listed.result["items"] == []


async def test_an_agent_of_an_admin_sees_no_more_for_it(theatre, puppets):
    async with theatre() as driver:
        await people(driver)
        anns = await driver.token("anns-agent", user="ann", kind="ai", access="full")
        sams = await driver.token("sams-agent", user="sam", kind="ai", access="full")
        call = asyncio.create_task(driver.ask("puppet/change", token=sams, room="lab", params={"name": "one"}))
        puppet = await puppets.on_stage("one")
        answer = await driver.ask("execution/status", token=anns, room="lab", params={"execution": puppet.id})
        listed = await driver.ask("execution/list", token=anns, room="lab", params={})
        puppet.end()
        await call
    assert answer.code == "not_found"
    assert puppet.id not in [item["execution"] for item in listed.result["items"]]


async def test_what_people_only_looked_at_can_be_left_out(theatre, puppets):
    async with theatre() as driver:
        calls = {}
        for name, command, who in (
            ("looked", "puppet/look", {"by": "", "room": ""}),
            ("changed", "puppet/change", {"by": "", "room": ""}),
            ("agent", "puppet/look", {"by": "helper", "room": "lab"}),
        ):
            call = asyncio.create_task(driver.ask(command, params={"name": name}, **who))
            puppet = await puppets.on_stage(name)
            puppet.end()
            await call
            calls[name] = puppet.id
        calls["read"] = (await driver.owner("room/mark", name="lab")).call
        every = await driver.owner("execution/list")
        notable = await driver.owner("execution/list", notable=True)
    assert set(calls.values()) <= {item["execution"] for item in every.result["items"]}
    seen = {item["execution"] for item in notable.result["items"]}
    assert seen & set(calls.values()) == {calls["changed"], calls["agent"]}
