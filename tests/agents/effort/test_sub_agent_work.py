"""The five kinds of work of a sub-agent, with the real commands of the house (R12.3, R12.4)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sub_agent_house import Yard, yard

from doorward.agents.effort.sub_agent_work import WORK
from doorward.config.settings import Settings
from doorward.config.settings.upstream import PackageSettings, UpstreamSettings
from example_servers import Servers


@pytest.fixture
async def house(opened: Any, monkeypatch: Any) -> AsyncIterator[Yard]:
    """A house with three servers, of which one is disabled."""
    servers = Servers()
    monkeypatch.setattr("doorward.app.connect_by_transport", lambda *_: servers.connect)
    nowhere = "http://127.0.0.1:9"
    packages = PackageSettings(registry="", python_index=f"{nowhere}/simple", npm_registry=nowhere)
    settings = Settings(upstream=UpstreamSettings(packages=packages))
    async with yard(opened, work=WORK, changes=settings) as found:
        await servers.known(found.driver.house)
        yield found


def enabled(house: Yard) -> dict[str, bool]:
    return {one.id: one.config.enabled for one in house.driver.house.services.upstreams}


async def queue(house: Yard, kind: Any, **params: Any) -> str:
    return (await house.sub.queue(kind, params, "medium", room="general", asker="owner")).id


async def approve(house: Yard, id: str) -> None:
    await house.decide("approve", await house.parked(id))


async def test_a_server_is_removed_once_a_person_approves(house: Yard) -> None:
    id = await queue(house, "remove_server", server="notes")
    ticket = await house.parked(id)
    shown = (await house.driver.owner("approval/show", id=ticket)).result
    assert (shown["command"], shown["params"]) == ("mcp/remove", {"id": "notes"})
    assert "notes" in enabled(house)
    await house.decide("approve", ticket)
    assert (await house.reached(id, "completed")).result["now"] == "removed"
    assert "notes" not in enabled(house)


async def test_a_denied_removal_leaves_the_server(house: Yard) -> None:
    id = await queue(house, "remove_server", server="notes")
    await house.decide("deny", await house.parked(id), reason="We need it.")
    assert (await house.reached(id, "failed")).error == "mcp/remove: denied by owner: We need it."
    assert "notes" in enabled(house)


async def test_an_unknown_server_fails_with_the_reason_of_the_command(house: Yard) -> None:
    id = await queue(house, "remove_server", server="nothing")
    await approve(house, id)
    assert "nothing" in (await house.reached(id, "failed")).error


@pytest.mark.parametrize("on", [True, False])
async def test_a_server_is_enabled_and_disabled_once_a_person_approves(house: Yard, on: bool) -> None:
    server = "search" if on else "notes"
    id = await queue(house, "modify_server", server=server, changes={"enabled": on})
    await approve(house, id)
    assert (await house.reached(id, "completed")).result["now"] == ("enabled" if on else "disabled")
    assert enabled(house)[server] is on


async def test_a_search_finds_servers_for_a_purpose(house: Yard) -> None:
    id = await queue(house, "search_servers", purpose="what time is it in Tokyo", limit=3)
    found = await house.reached(id, "completed")
    assert found.result["items"][0]["server"] == "time"
    assert len(found.result["items"]) <= 3


async def test_an_addition_that_no_server_fits_fails_with_the_nearest(house: Yard) -> None:
    id = await queue(house, "add_server", purpose="make coffee")
    failed = await house.reached(id, "failed")
    assert failed.error.startswith("No server that can be installed fits 'make coffee'. Nearest: powerpoint")
    assert failed.result["candidates"][0]["server"] == "powerpoint"
    assert (await house.driver.owner("approval/list")).result["items"] == []


async def test_a_room_whose_recipe_allows_no_servers_gets_none(house: Yard) -> None:
    await house.recipe(whitelist=["file/*"])
    id = await queue(house, "remove_server", server="notes")
    assert (await house.reached(id, "failed")).error.startswith("mcp/remove: ")
    assert "notes" in enabled(house)
