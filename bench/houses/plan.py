"""Everything that a house is filled with: records, a workspace and rooms."""

from __future__ import annotations

import random

import msgspec

from bench.houses.workspace import Workspace, make_workspace
from bench.houses.world import FIELDS_OF_WORK, World, make_world


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


def _rooms(world: World, chance: random.Random) -> tuple[Room, ...]:
    texts = ("The {} is ready.", "Who took care of the {}?", "Please look at the {} today.", "No news about the {}.")
    return tuple(
        Room(name, tuple(chance.choice(texts).format(topic) for topic in chance.sample(world.work.topics, 3)))
        for name in chance.sample(world.work.rooms, chance.choice((2, 3)))
    )
