"""Servers that a sub-agent adds: found, approved, installed, tested, and usable at once (R12.3, R12.4).

The package is real and is installed in the sandbox, from an index on loopback. Its server is a real process.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from local_registry import NAME, serve_registry
from sub_agent_house import Yard, yard

from doorward.agents.effort.sub_agent_work import WORK
from doorward.config.settings import Settings
from doorward.config.settings.upstream import PackageSettings, UpstreamSettings
from doorward.core.model import Credential, Outcome, Request
from waiting import until

PURPOSE = "what does the village clock say"
TOOL = "mcp/village-clock/chime"


@contextlib.asynccontextmanager
async def village(opened: Any) -> AsyncIterator[Yard]:
    with serve_registry() as url:
        packages = PackageSettings(registry=url, python_index=f"{url}/simple", npm_registry=url)
        settings = Settings(upstream=UpstreamSettings(packages=packages))
        async with yard(opened, work=WORK, changes=settings) as house:
            yield house


async def ask(house: Yard, **params: Any) -> str:
    return (await house.sub.queue("add_server", params, "high", room="general", asker="owner")).id


async def call_tool(house: Yard) -> Outcome:
    """Call the new tool as the agent, in the same room. Like any tool of a server, it needs approval."""
    credential = Credential(persona="guide", asker="owner", room="general")
    request = Request(command=TOOL, credential=credential, door="chat", room="general", params={})
    gate = house.driver.house.gate
    ticket = (await gate.handle(request)).ticket
    await house.decide("approve", ticket)
    outcome: Outcome = await gate.handle(msgspec.structs.replace(request, ticket=ticket))
    return outcome


async def test_a_server_for_a_purpose_is_found_approved_installed_and_usable_at_once(opened: Any) -> None:
    async with village(opened) as house:
        offered: list[bool] = []
        registry = house.driver.house.services.registry
        house.sub.on_message = lambda one: offered.append(TOOL in registry) if one.report == "tool_available" else None
        id = await ask(house, purpose=PURPOSE)
        ticket = await house.parked(id)
        shown = (await house.driver.owner("approval/show", id=ticket)).result
        assert (shown["command"], shown["params"]["server"]) == ("mcp/install", NAME)
        assert TOOL not in registry
        await house.decide("approve", ticket)
        done = await house.reached(id, "completed", "failed")
        assert (done.state, done.error) == ("completed", "")
        assert done.result["server"] == "village-clock"
        assert done.result["installed"]["version"] == "1.0"
        assert [one["command"] for one in done.result["tools"]] == [TOOL]
        assert offered == [True]
        reports = [one.report for one in house.sub.messages()]
        assert reports[-2:] == ["tool_available", "completion"]
        assert "It is noon." in (await call_tool(house)).text
        progress = [one.progress for one in house.events]
        assert progress == sorted(progress)
        assert progress[-1] == 100


async def test_a_denied_addition_installs_nothing(opened: Any) -> None:
    async with village(opened) as house:
        id = await ask(house, serverName=NAME)
        await house.decide("deny", await house.parked(id), reason="Ask the sexton.")
        failed = await house.reached(id, "failed")
        assert failed.error == "mcp/install: denied by owner: Ask the sexton."
        assert list(house.driver.house.services.upstreams) == []


async def test_an_addition_that_waits_goes_on_after_a_restart(opened: Any) -> None:
    async with village(opened) as house:
        id = await ask(house, purpose=PURPOSE)
        ticket = await house.parked(id)
        await house.sub.close()
        house.sub = house.make()
        await house.sub.start()
        await house.decide("approve", ticket)
        done = await house.reached(id, "completed", "failed")
        assert (done.state, done.error) == ("completed", "")
        searches = [one for one in await house.driver.ledger() if one["command"] == "mcp/search"]
        assert len(searches) == 1


async def test_an_addition_that_stops_before_people_see_it_asks_them_after_the_restart(opened: Any) -> None:
    async with village(opened) as house:
        id = await ask(house, purpose=PURPOSE)
        await until(lambda: house.sub._jobs[id]._journal.running == "mcp/install")
        await house.sub.close()
        assert (await house.stored(id)).state == "queued"
        house.sub = house.make()
        await house.sub.start()
        await house.decide("deny", await house.parked(id))
        await house.reached(id, "failed")
        records = [one for one in await house.driver.ledger() if one["command"] == "mcp/install"]
        assert [one["status"] for one in records][-2:] == [
            "parked",
            "denied",
        ]


async def test_an_addition_that_is_cancelled_while_it_installs_leaves_nothing_behind(opened: Any) -> None:
    async with village(opened) as house:
        id = await ask(house, purpose=PURPOSE)
        await house.decide("approve", await house.parked(id))
        await until(lambda: house.sub._jobs[id]._execution)
        cancelled = await house.sub.cancel(id, "too late", by="owner")
        assert (cancelled.state, cancelled.error) == ("cancelled", "Cancelled by owner: too late")
        services = house.driver.house.services
        assert list(services.upstreams) == []
        assert list(services.home.rglob("village_clock*")) == []
        assert not (services.home / "servers-installed" / "village-clock").exists()


async def test_a_server_that_is_there_already_is_only_tested(opened: Any) -> None:
    async with village(opened) as house:
        first = await ask(house, purpose=PURPOSE)
        await house.decide("approve", await house.parked(first))
        await house.reached(first, "completed")
        await house.driver.owner("mcp/disable", id="village-clock")
        again = await ask(house, serverName="village-clock")
        ticket = await house.parked(again)
        shown = (await house.driver.owner("approval/show", id=ticket)).result
        assert shown["command"] == "mcp/enable"
        await house.decide("approve", ticket)
        done = await house.reached(again, "completed", "failed")
        assert (done.state, done.error) == ("completed", "")
        assert done.result["installed"] is None
        tested = (
            await house.sub.queue("test_server", {"server": "village-clock"}, "low", room="general", asker="owner")
        ).id
        assert (await house.reached(tested, "completed", "failed")).result["tools"] == ["chime"]
