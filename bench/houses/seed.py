"""A generated house, opened in an empty folder and filled through its own gate."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from bench.houses.workspace import Workspace, make_workspace, write_workspace
from bench.houses.world import FIELDS_OF_WORK, World, make_world
from bench.questions.seed import SETTINGS, Seeded
from doorward.app import House, open_house
from doorward.config.home import Home
from doorward.core.model import Credential, Request


class Room(msgspec.Struct, frozen=True):
    name: str
    messages: tuple[str, ...]


class Plan(msgspec.Struct, frozen=True):
    """Everything that a house is filled with."""

    world: World
    workspace: Workspace
    rooms: tuple[Room, ...]


def make_plan(house: str, seed: int) -> Plan:
    world = make_world(FIELDS_OF_WORK[house], seed)
    chance = random.Random(f"rooms {house} {seed}")
    return Plan(world, make_workspace(world), _rooms(world, chance))


@contextlib.asynccontextmanager
async def open_plan(plan: Plan, folder: Path) -> AsyncIterator[Seeded]:
    """The house with everything in it, until the end of the block."""
    home = Home(folder)
    home.create()
    async with open_house(home, changes=SETTINGS) as house:
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


def _rooms(world: World, chance: random.Random) -> tuple[Room, ...]:
    texts = ("The {} is ready.", "Who took care of the {}?", "Please look at the {} today.", "No news about the {}.")
    return tuple(
        Room(name, tuple(chance.choice(texts).format(topic) for topic in chance.sample(world.work.topics, 3)))
        for name in chance.sample(world.work.rooms, chance.choice((2, 3)))
    )
