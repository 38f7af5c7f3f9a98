"""Servers are found by their purpose, in Doorward's own list and in the registry; a registry that is away is a note."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path

import pytest
from package_house import PackageHouse, package_house
from package_registry import PackageRegistry

from doorward.upstream.packages.known_servers import load_known
from doorward.upstream.packages.plan import PackageChoice


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[PackageHouse]:
    async with PackageRegistry.opened() as registry, package_house(tmp_path, registry) as house:
        yield house


async def found(house: PackageHouse, purpose: str) -> list[str]:
    return [one["server"] for one in (await house.done("mcp/search", purpose=purpose))["items"]]


@pytest.mark.parametrize(
    ("purpose", "best"),
    [
        ("what time is it in Tokyo", "time"),
        ("mcp-server-time", "time"),
        ("remember facts about my customers", "memory"),
        ("query a PostgreSQL database", "postgres"),
        ("fill in a form on a website", "playwright"),
        ("will it rain in Oslo tomorrow", "weather"),
        ("send an email", "gmail"),
        ("open an issue on GitHub", "github"),
    ],
)
async def test_the_best_server_for_a_purpose_comes_first(house: PackageHouse, purpose: str, best: str) -> None:
    listed = (await house.done("mcp/search", purpose=purpose, limit=3))["items"]
    assert listed[0]["server"] == best
    assert 0.2 < listed[0]["score"] <= 1.0
    assert listed[0]["reason"]
    assert len(listed) <= 3


async def test_a_purpose_that_no_server_has_finds_none(house: PackageHouse) -> None:
    assert await found(house, "xyzzy plugh") == []


async def test_servers_of_the_registry_are_found_too_and_known_ones_only_once(house: PackageHouse) -> None:
    house.registry.put_wheel("clock")
    house.registry.list_server("org.example/clock", "Tells the time of the village clock.", "clock")
    house.registry.list_server("org.example/time", "Tells the time.", "mcp-server-time")
    answer = await house.done("mcp/search", purpose="the time of the village clock")
    first = answer["items"][0]
    assert (first["server"], first["source"], first["version"], first["exists"]) == (
        "org.example/clock",
        "registry",
        "1.0",
        True,
    )
    assert "org.example/time" not in [one["server"] for one in answer["items"]]
    assert {one["exists"] for one in answer["items"][1:]} <= {False}, "the packages of others are not on this index"


async def test_only_a_few_words_of_the_purpose_leave_the_house(house: PackageHouse) -> None:
    await house.done(
        "mcp/search", purpose="village clock time sk-1234567890abcdefghijklmnopqrstuvwxyz and much more text"
    )
    asked = [one for one in house.registry.asked if one.startswith("/v0.1/servers?")]
    assert len(asked) == 3
    assert not any("abcdefghij" in one for one in asked)


async def test_registries_that_cannot_be_reached_are_notes(house: PackageHouse) -> None:
    async with PackageRegistry.opened() as gone:
        pass
    async with package_house(house.path / "other", gone) as alone:
        answer = await alone.done("mcp/search", purpose="what time is it in Tokyo")
        assert (answer["items"][0]["server"], answer["items"][0]["exists"]) == ("time", None)
        assert any("MCP registry" in one for one in answer["notes"])
        assert any("could not be asked for versions" in one for one in answer["notes"])


async def test_agents_may_search(house: PackageHouse) -> None:
    await house.room()
    asked = await house.ask("mcp/search", {"purpose": "current time"}, by="helper", room="shop")
    assert asked.result["items"][0]["server"] == "time"


def test_the_list_of_known_servers_is_complete_and_says_where_it_comes_from() -> None:
    text = resources.files("doorward.upstream.packages").joinpath("known_servers.json").read_text()
    whole = json.loads(text)
    assert "CC0" in whole["license"]
    known = load_known()
    assert 40 <= len(known) <= 80
    assert len({one.name for one in known}) == len(known) == len({one.package for one in known})
    for one in known:
        assert one.registry_type
        PackageChoice(one.registry_type, one.package).check()
        assert one.description.endswith(".")
        assert one.purposes
