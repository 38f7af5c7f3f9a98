"""Real servers from PyPI and npm are found, installed and used. Where these two cannot be reached, the tests fail and
say so."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from package_house import PackageHouse
from package_registry import PackageRegistry

from doorward.app import open_house
from doorward.config.home import Home
from doorward.config.settings import Settings, UpstreamSettings
from doorward.config.settings.upstream import PackageSettings
from doorward.upstream.packages.addresses import find_addresses


def resolve(address: str) -> str:
    """The address of a registry's host. Where it is private, the settings must name it, as behind a mirror."""
    host = urlsplit(address).hostname or ""
    try:
        return str(socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        pytest.fail(f"not run: {host} cannot be reached from here ({error}), and this test installs from it")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[PackageHouse]:
    async with PackageRegistry.opened() as registry:
        packages = PackageSettings(registry=registry.url)
        found = find_addresses(packages, os.environ)
        hosts = [found.python_index, found.npm_registry, *(f"https://{one}" for one in packages.hosts)]
        private = tuple({resolve(one) for one in hosts})
        settings = Settings(upstream=UpstreamSettings(private_addresses=private, packages=packages))
        async with open_house(Home(tmp_path / "home"), changes=settings) as opened:
            yield PackageHouse(opened, registry)


async def test_the_time_server_of_pypi_tells_the_time_in_tokyo(house: PackageHouse) -> None:
    house.registry.list_server("org.example/time", "Tells the time.", "mcp-server-time")
    best = (await house.done("mcp/search", purpose="what time is it in Tokyo"))["items"][0]
    assert (best["server"], best["package"], best["exists"]) == ("time", "mcp-server-time", True)
    outcome = await house.install(server=best["server"])
    assert outcome.status == "done", (outcome.message, outcome.hint)
    assert outcome.result["version"] == best["version"]
    assert outcome.result["tools"] == ["get_current_time", "convert_time"]
    asked = await house.ask("mcp/time/get_current_time", {"timezone": "Asia/Tokyo"})
    assert "+09:00" in asked.text


async def test_the_memory_server_of_npm_remembers(house: PackageHouse) -> None:
    outcome = await house.install(package="@modelcontextprotocol/server-memory", registryType="npm", id="notes")
    assert outcome.status == "done", (outcome.message, outcome.hint)
    assert outcome.result["hash"].startswith("sha512-")
    entity = {"name": "Ada", "entityType": "person", "observations": ["likes doors"]}
    await house.done("mcp/notes/create_entities", entities=[entity])
    tested = await house.done("mcp/test", server="notes", calls=True)
    assert "likes doors" in (await house.ask("mcp/notes/read_graph", {})).text
    assert all(one["result"] == "ok" for one in tested["calls"]), tested
