"""A generated house, opened in an empty folder and filled through its own gate."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bench.houses.plan import Plan
from bench.houses.workspace import write_workspace
from bench.questions.seed import SETTINGS, Seeded
from doorward.app import House, open_house
from doorward.config.home import Home
from doorward.config.settings import Settings
from doorward.core.model import Credential, Request


@contextlib.asynccontextmanager
async def open_plan(plan: Plan, folder: Path, settings: Settings = SETTINGS) -> AsyncIterator[Seeded]:
    """The house with everything in it, until the end of the block."""
    home = Home(folder)
    home.create()
    async with open_house(home, changes=settings) as house:
        seeded = Seeded(house, time.time(), [])
        seeded.workspace.mkdir(parents=True, exist_ok=True)
        write_workspace(plan.workspace, seeded.workspace)
        for table in plan.world.tables.values():
            await _run(house, "collection/define", {"name": table.name, "schema": plan.world.schema(table)})
            for row in table.rows:
                data = plan.world.body(table, row)
                await _run(house, "data/create", {"collection": table.name, "id": row["id"], "data": data})
        for room in plan.rooms:
            await _run(house, "room/create", {"name": room.name, "recipe": "casual-chat", "topic": "Daily business"})
            for text in room.messages:
                await _run(house, "room/say", {"name": room.name, "text": text})
        yield seeded


async def _run(house: House, command: str, params: dict[str, Any]) -> None:
    outcome = await house.gate.handle(Request(command, Credential(owner=True), "seed", params=params))
    if outcome.status != "done":
        raise RuntimeError(f"{command} was to be done, but it was {outcome.status}: {outcome.message}")
