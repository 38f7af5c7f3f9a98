"""An agent with effort gets itself the tool that it lacks: a real server from a real registry, approved by a person."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorward.agents.personas.dispatcher import run_personas
from doorward.rooms.message import Card
from package_registries import with_registries
from settling import settled
from waiting import AT_LEISURE, until

pytestmark = pytest.mark.anyio


async def test_an_agent_without_a_clock_gets_a_time_server_and_answers_in_one_conversation(opened: Any) -> None:
    async with opened(changes=with_registries()) as driver:
        await _ask_for_the_time(driver)


async def _ask_for_the_time(driver: Any) -> None:
    house, services = driver.house, driver.house.services
    async with run_personas(house.gate, services, house.models, house.effort) as company:
        body = {"personaId": "worker", "displayName": "Worker", "effort": {}}
        await driver.owner("persona/put", id="worker", text=json.dumps(body))
        begun = (await driver.owner("conversation/start", agent="worker", text="What time is it in Tokyo?")).result
        room = services.rooms.require("local", begun["room"])

        async def said() -> list[str]:
            newest = await services.messages.newest(room, 50)
            return [one.text for one in reversed(newest) if one.sender == "worker" and one.text]

        async def approve(command: str) -> None:
            async def pending() -> list[str]:
                found = (await driver.owner("approval/list")).result["items"]
                return [one["id"] for one in found if one["state"] == "pending" and one["command"] == command]

            (ticket,) = await until(pending, AT_LEISURE)
            await driver.owner("approval/approve", id=ticket)

        await until(said)
        assert "asked for the MCP server time" in (await said())[0]
        await approve("mcp/install")
        await approve("mcp/time/get_current_time")

        async def answered() -> bool:
            return any("Asia/Tokyo" in one for one in await said())

        await until(answered, AT_LEISURE)
        await settled(company)
        (request,) = (await driver.owner("effort/requests", agent="worker")).result["items"]
        assert (request["state"], request["progress"]) == ("completed", 100.0)
        cards = [part for one in await services.messages.newest(room, 50) for part in one.attachments]
        assert [one.command for one in cards if isinstance(one, Card)] == ["mcp/time/get_current_time"]
        (talk,) = (await driver.owner("conversation/list", agent="worker")).result["items"]
        assert talk["state"] == "answered"
