"""The server that the conformance suite runs against: a real Doorward behind the real listener.

It differs from `doorward up` in three ways. The room's recipe permits everything, the door also offers the suite's own
tools, and every request gets one fixed token, because the suite sends none.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import fixture_family
from fixture_extras import FixtureDispatcher
from starlette.routing import Route

from doorward.app import House, open_house
from doorward.config.home import Home, bind_private_socket
from doorward.config.settings import McpSettings, Settings
from doorward.core.model import Credential, Request
from doorward.doors.http.applications import HttpApplications
from doorward.doors.http.ports import listen
from doorward.doors.http.server import serve
from doorward.doors.mcp.door import McpDoor
from doorward.doors.mcp.http import HttpEndpoint

RECIPE = {
    "recipeId": "conformance",
    "displayName": "Conformance",
    "description": "The conformance suite may do what its fixture offers.",
    "strategy": {
        "aiCommands": {
            "enabled": True,
            "whitelist": ["test/*", "file/*", "shell/comes_and_goes"],
            "maxCommandsPerMinute": 100_000,
        }
    },
}
ROOM = "suite"
EVERYTHING = Settings(mcp=McpSettings(tools="all"))
"""The suite calls every tool of the fixture by its listing."""


class Fixture(NamedTuple):
    house: House
    url: str

    async def recorded(self) -> set[tuple[str, str]]:
        """What came through the MCP door and how it ended, by the ledger."""
        rows = await self.house.services.store.read("SELECT command, code FROM ledger WHERE door = 'mcp'")
        return {(row["command"], row["code"]) for row in rows}


@contextlib.asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Fixture]:
    """A running fixture, with its home in `folder`."""
    home = Home(folder / "home")
    home.create()
    home.recipes.mkdir(exist_ok=True)
    await asyncio.to_thread((home.recipes / "conformance.json").write_text, json.dumps(RECIPE))
    async with open_house(home, families=[fixture_family.family], changes=EVERYTHING) as house:
        await _owner(house, "room/create", name=ROOM, recipe="conformance")
        made = await _owner(house, "token/create", name="suite", kind="service", rooms=[ROOM])
        credential = Credential(token=made["token"])
        endpoint = HttpEndpoint(McpDoor(house.gate, house.services, FixtureDispatcher), lambda headers: credential)
        server = HttpApplications(house.gate, house.services)
        server.router.router.routes.insert(0, Route("/mcp/{room}", endpoint))
        stopping, up = asyncio.Event(), asyncio.get_running_loop().create_future()
        with (
            contextlib.closing(listen("127.0.0.1", 0)) as public,
            contextlib.closing(bind_private_socket(home.socket)) as private,
        ):
            listening = asyncio.create_task(serve(server, public, private, stopping, lambda: up.set_result(None)))
            try:
                await asyncio.wait([listening, up], return_when=asyncio.FIRST_COMPLETED)
                yield Fixture(house, f"http://127.0.0.1:{public.getsockname()[1]}/mcp/{ROOM}")
            finally:
                stopping.set()
                await listening


async def _owner(house: House, command: str, **params: object) -> dict[str, str]:
    outcome = await house.gate.handle(
        Request(command=command, credential=Credential(owner=True), door="test", params=params)
    )
    assert outcome.status == "done", outcome
    return dict(outcome.result)
