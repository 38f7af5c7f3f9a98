"""What very many rooms and personas cost while nothing is said: the memory of a server that keeps them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from bench.apart import resident
from bench.programs import doorward_command, running_server
from bench.sizes import Sizes
from doorward.app import open_house
from doorward.config.home import Home
from doorward.core.classification import Role
from doorward.rooms.people import LOCAL, OWNER
from doorward.rooms.rooms import Member, Room

_RECIPE = "code-collaboration"


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    home = folder / "many-rooms"
    asyncio.run(_prepare(Home(home), sizes))
    with running_server(doorward_command(), home) as server:
        return {"rooms_memory": resident(server.pid)}


async def _prepare(home: Home, sizes: Sizes) -> None:
    """Rooms with the owner in them, and for each of them personas of its own."""
    async with open_house(home) as house:
        for number in range(sizes.rooms):
            members = {OWNER: Member(OWNER, "human", Role.OWNER)}
            await house.services.rooms.create(Room(LOCAL, f"room-{number}", f"Room {number}", _RECIPE, members))
    for number in range(sizes.rooms):
        for place in range(sizes.personas):
            id = f"persona-{number}-{place}"
            facts = {"personaId": id, "displayName": id, "bio": "I wait.", "rooms": [f"room-{number}"]}
            (home.personas / f"{id}.json").write_text(json.dumps(facts))
