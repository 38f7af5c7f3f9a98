"""A house with an MCP door in front and servers of others, each a real process, behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from mcp_house import EVERYTHING, RECIPE, McpHouse, furnish, write_recipe

from doorward.app import open_house
from doorward.config.home import Home
from doorward.config.settings import Settings
from doorward.sandbox import view

PEER = Path(__file__).with_name("upstream_peer.py")


def recipe(name: str, *whitelist: str) -> dict[str, Any]:
    commands = {**RECIPE["strategy"]["aiCommands"], "whitelist": list(whitelist)}
    return {**RECIPE, "recipeId": name, "strategy": {"aiCommands": commands}}


def server(id: str, *flags: str, **more: Any) -> dict[str, Any]:
    """The peer as a file of servers has it. Its calls ask nobody, unless a test says otherwise."""
    python, _ = view.find_python()
    known = {"command": python, "args": ["-I", "-S", str(PEER), *flags], "sandbox": {"read": [str(PEER)]}}
    return {"id": id, "name": id, "autoApprove": True, **known, **more}


@contextlib.asynccontextmanager
async def open_door(folder: Path, *servers: dict[str, Any], changes: Settings | None = None) -> AsyncIterator[McpHouse]:
    """Two rooms: in the annex everything of servers is allowed, in the cell nothing of them is."""
    home = Home(folder / "home")
    families = furnish(home)
    write_recipe(home, recipe("annex", "mcp/*", "help/*"))
    write_recipe(home, recipe("cell", "help/*"))
    (home.path / "mcp-servers.json").write_text(json.dumps({"servers": list(servers)}))
    async with open_house(home, families=families, changes=changes or EVERYTHING) as opened:
        house = McpHouse(opened)
        for room in ("annex", "cell"):
            await house.owner("room/create", name=room, recipe=room)
        upstreams = house.services.upstreams
        upstreams.start()
        await asyncio.gather(*(one.start_and_wait() for one in upstreams))
        upstreams.refresh()
        assert [one.problem for one in upstreams if one.problem] == []
        yield house
