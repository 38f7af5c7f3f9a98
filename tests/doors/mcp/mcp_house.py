"""A house with an MCP door, and what tests ask of it."""

from __future__ import annotations

import json
from typing import Any

from mcp_commands import family
from mcp_web import Web

from doorward.app import House
from doorward.config.home import Home
from doorward.config.settings import McpSettings, Settings
from doorward.core.command import Family
from doorward.core.model import Credential, Outcome, Request
from doorward.doors.http.applications import HttpApplications

EVERYTHING = Settings(mcp=McpSettings(tools="all"))
"""These tests call what a room offers and compare results, so their clients ask for every tool and its schemas."""

RECIPE: dict[str, Any] = {
    "recipeId": "workshop",
    "displayName": "Workshop",
    "description": "Agents do what these tests need.",
    "strategy": {
        "aiCommands": {
            "enabled": True,
            "whitelist": ["probe/*", "file/read", "file/list", "file/write", "data/list", "help/*", "room/*"],
            "requireApproval": {"file/write": True},
            "maxCommandsPerMinute": 10_000,
        }
    },
}


def furnish(home: Home) -> list[Family]:
    """Put the recipe of the workshop there, and give the commands of these tests."""
    home.create()
    write_recipe(home, RECIPE)
    return [family]


def write_recipe(home: Home, recipe: dict[str, Any]) -> None:
    (home.recipes / f"{recipe['recipeId']}.json").write_text(json.dumps(recipe))


class McpHouse:
    def __init__(self, house: House, clock: Any = None) -> None:
        self.house = house
        self.clock = clock
        self.home = house.home
        self.services = house.services
        self.gate = house.gate
        self.server = HttpApplications(self.gate, self.services)
        self.door = self.server.mcp
        self._names = 0

    async def move_in(self) -> None:
        await self.owner("room/create", name="workshop", recipe="workshop")

    async def ask(self, command: str, credential: Credential, room: str = "", **params: Any) -> Outcome:
        return await self.gate.handle(
            Request(command=command, credential=credential, door="test", room=room, params=params)
        )

    async def owner(self, command: str, **params: Any) -> Outcome:
        outcome = await self.ask(command, Credential(owner=True), **params)
        assert outcome.status == "done", outcome
        return outcome

    async def token(self, name: str = "", **params: Any) -> str:
        self._names += 1
        made = await self.owner("token/create", name=name or f"bot-{self._names}", **params)
        return str(made.result["token"])

    async def web(self, name: str = "", room: str = "workshop", app: Any = None, **params: Any) -> Web:
        """A client with a token of its own. `capabilities` are what it says it can do."""
        capabilities = params.pop("capabilities", None)
        token = await self.token(name, **params)
        return Web(app or self.server.public, token, f"/mcp/{room}", capabilities)

    def announce(self, kind: str) -> None:
        """Notify all clients that the list of `tools`, `prompts` or `resources` changed, though no event said so."""
        subscriptions = self.door.dispatcher.subscriptions
        subscriptions._offers._generation += 1
        for listener in subscriptions._listeners.values():
            listener.notify_list(kind)

    async def ledger(self, command: str) -> list[dict[str, Any]]:
        return await self.services.store.read("SELECT * FROM ledger WHERE command = ? ORDER BY seq", (command,))

    async def call(self, id: str) -> list[dict[str, Any]]:
        """The records of one call."""
        return await self.services.store.read("SELECT * FROM ledger WHERE call = ? ORDER BY seq", (id,))
