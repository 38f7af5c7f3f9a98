"""A house that installs its servers from a registry on loopback, in the real sandbox."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from package_registry import PackageRegistry

from doorward.app import House, open_house
from doorward.config.home import Home
from doorward.config.settings import Settings, UpstreamSettings
from doorward.config.settings.upstream import PackageSettings
from doorward.core.clock import Clock
from doorward.core.model import Credential, Outcome, Request

RECIPE = {
    "recipeId": "shop",
    "displayName": "Shop",
    "strategy": {
        "aiCommands": {"enabled": True, "whitelist": ["mcp/*"], "maxCommandsPerMinute": 10_000},
    },
}


class PackageHouse:
    def __init__(self, house: House, registry: PackageRegistry) -> None:
        self.house = house
        self.registry = registry
        self.path = house.home.path

    async def ask(
        self, command: str, params: Mapping[str, Any], *, by: str = "", room: str = "", watch: Any = None, **more: Any
    ) -> Outcome:
        """As the owner, or as the agent `by` in a room."""
        credential = Credential(owner=True, speak_as=by)
        request = Request(command, credential, "test", room=room, params=params, **more)
        return await self.house.gate.handle(request, watch)

    async def done(self, command: str, **params: Any) -> Any:
        outcome = await self.ask(command, params)
        assert outcome.status == "done", (outcome.code, outcome.message, outcome.hint)
        return outcome.result

    async def plan(self, **params: Any) -> dict[str, Any]:
        """The plan that a person sees in a dry run."""
        looked = await self.ask("mcp/install", params, dry_run=True)
        assert looked.status == "done", (looked.code, looked.message, looked.hint)
        return dict(looked.result["effect"])

    async def install(self, **params: Any) -> Outcome:
        """Look at the plan, and confirm it."""
        return await self.ask("mcp/install", {**params, "plan": (await self.plan(**params))["plan"]})

    def exists(self, folder: str) -> bool:
        return Path(folder).is_dir()

    async def room(self) -> None:
        """A room in which agents may use the mcp commands."""
        await self.done("recipe/put", id="shop", text=json.dumps(RECIPE))
        await self.done("room/create", name="shop", recipe="shop")

    def installed(self) -> list[str]:
        """The folders of installations, finished or not, and the own folders of servers."""
        places = [*self.path.glob("servers-installed/*"), *self.path.glob("servers/[a-z]*")]
        return sorted(str(place.relative_to(self.path)) for place in places if place.name != ".plans")

    def entries(self) -> dict[str, Any]:
        file = self.path / "mcp-servers.json"
        found = json.loads(file.read_text())["servers"] if file.exists() else []
        return {one["id"]: one for one in found}

    def is_untouched(self) -> bool:
        """Whether nothing is left of any installation."""
        return self.installed() == [] and self.entries() == {}


@contextlib.asynccontextmanager
async def package_house(
    folder: Path, registry: PackageRegistry, clock: Clock | None = None, **limits: Any
) -> AsyncIterator[PackageHouse]:
    packages = PackageSettings(
        registry=registry.url, python_index=f"{registry.url}/simple", npm_registry=f"{registry.url}/npm", **limits
    )
    settings = Settings(upstream=UpstreamSettings(packages=packages))
    async with open_house(Home(folder / "home"), clock=clock, changes=settings) as house:
        yield PackageHouse(house, registry)
