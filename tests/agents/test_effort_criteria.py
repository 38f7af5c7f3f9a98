"""The ten success criteria of agents with effort, each with real servers: one of npm as configured by a person, and one
that the sub-agent installs from npm."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
from persona_house import Line, Scripted, asked

from doorward.agents.effort.agent import EffortAgent
from doorward.agents.personas.dispatcher import PersonaDispatcher, run_personas
from doorward.app import House, open_house
from doorward.core.events import SubAgentReported
from doorward.core.ids import new_id
from doorward.core.model import Credential, Outcome, Request
from node_peers import NODE, package
from package_registries import with_registries
from settling import settled
from waiting import AT_LEISURE, until

pytestmark = pytest.mark.anyio
ECHO = "mcp/everything/echo"


class Owner:
    """Runs commands as the owner, with the real clock."""

    def __init__(self, house: House) -> None:
        self.house = house

    async def owner(self, command: str, /, **params: Any) -> Outcome:
        request = Request(command=command, credential=Credential(owner=True), door="test", room="", params=params)
        outcome = await self.house.gate.handle(request)
        assert outcome.status == "done", outcome
        return outcome


class Desk:
    """An agent with effort in a room whose recipe allows tools of servers without asking."""

    def __init__(self, driver: Owner, company: PersonaDispatcher, model: Scripted) -> None:
        self.driver = driver
        self.services = driver.house.services
        self.company = company
        self.model = model

    @property
    def agent(self) -> EffortAgent:
        found: EffortAgent = self.driver.house.effort._agents["worker"]
        return found

    async def say(self, text: str, *answers: Line) -> list[str]:
        self.model.answers[:] = answers
        await self.driver.owner("room/say", text=text, name="desk")
        await settled(self.company)
        return await self.said()

    async def said(self) -> list[str]:
        room = self.services.rooms.require("local", "desk")
        newest = await self.services.messages.newest(room, 50)
        return [one.text for one in reversed(newest) if one.sender == "worker" and one.text]

    async def approvals(self) -> list[dict[str, Any]]:
        found = (await self.driver.owner("approval/list")).result["items"]
        return [one for one in found if one["state"] == "pending"]

    async def request(self, kind: str, **params: Any) -> str:
        sub = self.agent.sub_agent
        assert sub is not None
        return (await sub.queue(kind, params, "high", room="desk", asker="owner")).id  # type: ignore[arg-type]

    async def ended(self, id: str, *, approve: str = "") -> Any:
        """Wait until a request has ended, and approve the call that it needs."""
        sub = self.agent.sub_agent
        assert sub is not None

        async def look() -> Any:
            found = await sub.find(id)
            assert found is not None
            if found.ticket and approve:
                approval = await self.services.approvals.find("local", found.ticket)
                if approval.state == "pending" and approval.command == approve:
                    await self.driver.owner("approval/approve", id=found.ticket)
            return found if not found.is_open else None

        return await until(look, AT_LEISURE)


@contextlib.asynccontextmanager
async def desk(home: Any) -> AsyncIterator[Desk]:
    script = package("@modelcontextprotocol/server-everything") / "dist" / "index.js"
    entry = {
        "id": "everything",
        "name": "everything",
        "command": str(NODE),
        "args": [str(script)],
        "sandbox": {"read": [str(script.parents[3]), str(NODE.parents[1])]},
        "autoApprove": True,
    }
    home.path.mkdir(parents=True, exist_ok=True)
    file = home.path / "mcp-servers.json"
    if not file.exists():
        file.write_text(json.dumps({"servers": [entry], "subAgentEnabled": True}))
    async with open_house(home, changes=with_registries()) as house:
        driver, model = Owner(house), Scripted()
        async with run_personas(house.gate, house.services, model, house.effort) as company:
            if house.services.rooms.get("local", "desk") is None:
                rules = {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 600}
                recipe = {"recipeId": "open", "displayName": "Open", "strategy": {"aiCommands": rules}}
                await driver.owner("recipe/put", id="open", text=json.dumps(recipe))
                await driver.owner("room/create", name="desk", recipe="open")
                body = {"personaId": "worker", "displayName": "W", "model": "scripted", "rooms": ["desk"], "effort": {}}
                await driver.owner("persona/put", id="worker", text=json.dumps(body))
            await settled(company)
            await house.services.upstreams.discover("everything")
            yield Desk(driver, company, model)


def echo(text: str) -> Line:
    return [asked("everything_echo", new_id(), message=text)]


async def test_1_the_agent_invokes_tools_of_configured_servers(home: Any) -> None:
    async with desk(home) as house:
        assert await house.say("say it", echo("hello there"), "It said it.") == ["It said it."]
        assert "hello there" in house.model.shown[-1].turns[-1].text


async def test_2_tool_invocations_cost_energy_for_their_time(home: Any) -> None:
    async with desk(home) as house:
        await house.say("say it", echo("x"), "Done.")
        charges = await house.services.store.read(
            "SELECT subject, amount FROM energy_charges WHERE kind = 'call' AND subject = ?", (ECHO,)
        )
        assert len(charges) == 1
        duration = (
            await house.services.store.read("SELECT max(duration) AS took FROM ledger WHERE command = ?", (ECHO,))
        )[0]["took"]
        assert charges[0]["amount"] == pytest.approx(2 * duration / 1e6, rel=0.01)
        invocations = (await house.driver.owner("data/list", collection="mcp_tool_invocations")).result["items"]
        assert [(one["server_id"], one["success"]) for one in invocations] == [("everything", True)]
        assert invocations[0]["energy_consumed"] == charges[0]["amount"]


async def test_3_the_sub_agent_adds_tests_and_removes_a_server(home: Any) -> None:
    async with desk(home) as house:
        added = await house.ended(await house.request("add_server", serverName="memory"), approve="mcp/install")
        assert (added.state, added.error) == ("completed", "")
        assert "read_graph" in {one["tool"] for one in added.result["tools"]}
        tested = await house.ended(await house.request("test_server", server="memory"))
        assert tested.state == "completed"
        assert await house.say("what do you know", [asked("memory_read_graph", "1")], "Nothing.") == []
        (waits,) = [one for one in await house.approvals() if one["command"] == "mcp/memory/read_graph"]
        await house.driver.owner("approval/approve", id=waits["id"])  # tools of new servers ask people
        await settled(house.company)
        assert await house.said() == ["Nothing."]
        removed = await house.ended(await house.request("remove_server", server="memory"), approve="mcp/remove")
        assert removed.state == "completed"
        assert "memory" not in {one.id for one in house.services.upstreams}


async def test_4_the_work_of_the_sub_agent_is_paid_by_the_agent(home: Any) -> None:
    async with desk(home) as house:
        tested = await house.ended(await house.request("test_server", server="everything"))
        sub = house.agent.sub_agent
        assert sub is not None
        await sub.collect_energy()
        rows = await house.services.store.read("SELECT amount FROM energy_charges WHERE kind = 'subagent'")
        assert tested.energy > 0
        assert math.fsum(row["amount"] for row in rows) == tested.energy
        assert await sub.collect_energy() == 0.0


async def test_5_the_loop_answers_while_the_sub_agent_works(home: Any) -> None:
    async with desk(home) as house:
        id = await house.request("add_server", serverName="memory")
        sub = house.agent.sub_agent
        assert sub is not None
        await until(lambda: sub.has_active_work())
        assert await house.say("are you there", "Yes, at once.") == ["Yes, at once."]
        assert sub.has_active_work()
        assert (await sub.cancel(id, "not needed")).state == "cancelled"


async def test_6_the_agent_hears_messages_of_the_sub_agent(home: Any) -> None:
    async with desk(home) as house:
        events: list[SubAgentReported] = []
        house.services.events.subscribe(events.append, SubAgentReported)
        await house.ended(await house.request("test_server", server="everything"))
        await until(lambda: [one for one in events if one.report == "completion"])
        assert events[0].state == "queued"
        assert events[-1].progress == 100.0
        assert {one.agent for one in events} == {"worker"}


async def test_7_the_agent_cancels_and_pauses_the_sub_agent(home: Any) -> None:
    async with desk(home) as house:
        await house.driver.owner("effort/pause", agent="worker")
        request = [asked("mcp_request_server_addition", "1", serverName="memory", purpose="remember things")]
        await house.say("remember this", request, "I asked for it.")
        (made,) = (await house.driver.owner("effort/requests", agent="worker")).result["items"]
        assert made["state"] == "queued"
        cancel = [asked("mcp_cancel_subagent_work", "2", requestId=made["id"], reason="changed my mind")]
        check = [asked("mcp_check_subagent_status", "3", requestId=made["id"])]
        await house.say("never mind", cancel, check, "Cancelled.")
        assert '"state":"cancelled"' in house.model.shown[-1].turns[-1].text
        found = (await house.driver.owner("effort/resume", agent="worker")).result
        assert found["subAgent"] == "idle"


async def test_8_servers_stay_configured_over_a_restart(home: Any) -> None:
    async with desk(home) as house:
        given = {"id": "spare", "command": "/bin/false", "name": "Spare"}
        await house.driver.owner("mcp/add", **given)
        await house.driver.owner("mcp/disable", id="spare")
    async with desk(home) as house:
        found = {one.id: one.config.enabled for one in house.services.upstreams}
        assert found == {"everything": True, "spare": False}


async def test_9_a_server_that_fails_costs_an_error_and_nothing_else(home: Any) -> None:
    home.path.mkdir(parents=True, exist_ok=True)
    broken = {"id": "broken", "name": "broken", "command": "/bin/false"}
    (home.path / "mcp-servers.json").write_text(json.dumps({"servers": [broken]}))
    async with desk(home) as house:
        tested = await house.ended(await house.request("test_server", server="broken"))
        assert tested.state == "failed"
        assert "broken" in tested.error
        assert await house.say("are you there", "Yes.") == ["Yes."]


async def test_10_people_configure_servers_in_a_file_that_is_read_while_it_runs(home: Any) -> None:
    async with desk(home) as house:
        file = home.path / "mcp-servers.json"
        held = json.loads(file.read_text())
        held["servers"][0]["enabled"] = False
        file.write_text(json.dumps(held))
        await house.services.servers.load()
        assert ECHO not in [
            one.names.canonical for one in house.services.upstreams.offers if one.upstream.config.enabled
        ]
        held["servers"][0]["enabled"] = True
        file.write_text(json.dumps(held))
        await house.services.servers.load()
        await house.services.upstreams.discover("everything")
        await asyncio.sleep(0)
        assert await house.say("say it", echo("back again"), "Back.") == ["Back."]
