"""Rooms with a network of their own, and what their programs say."""

from __future__ import annotations

import json
from typing import Any

from doorward.core.model import Outcome


async def make_room(driver: Any, name: str, network: Any = "none", **commands: Any) -> None:
    """A room of the owner with a recipe of its own, in which agents may do what `commands` does not narrow."""
    await write_recipe(driver, name, network, **commands)
    await driver.owner("room/create", name=name, recipe=name)


async def write_recipe(driver: Any, name: str, network: Any, changes: str = "direct", **commands: Any) -> None:
    rules = {"enabled": True, "tiers": ["information", "code"], "maxCommandsPerMinute": 10_000, **commands}
    strategy = {"changes": changes, "sandbox": {"network": network}, "aiCommands": rules}
    recipe = {"recipeId": name, "displayName": name, "strategy": strategy}
    (driver.house.home.recipes / f"{name}.json").write_text(json.dumps(recipe))
    await driver.house.services.recipes.load()


async def run(driver: Any, room: str, name: str, /, by: str = "", **params: Any) -> Outcome:
    outcome: Outcome = await driver.ask(name, by=by, room=room, params=params)
    return outcome


async def say(driver: Any, room: str, script: str, **params: Any) -> str:
    """What a script prints, with its errors."""
    outcome = await run(driver, room, "bash", command=f"exec 2>&1; {script}; true", **params)
    assert outcome.status == "done", outcome
    return str(outcome.result["stdout"])
