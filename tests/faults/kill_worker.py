"""A process to be killed. It reads `home seed` lines; for each it forks a child that works in that home until it dies.

Forking saves the second it takes to import everything; the child is a process of its own, with threads and a
database that nobody shares. It writes a line for each answer that left the gate.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from doorward.app import House, open_house
from doorward.config.home import Home, HomeLock
from doorward.core.errors import DoorwardError
from doorward.core.model import Credential, Request

RECIPE = {
    "recipeId": "yard",
    "displayName": "Yard",
    "strategy": {
        "aiCommands": {
            "enabled": True,
            "whitelist": ["*"],
            "maxCommandsPerMinute": 1_000_000,
            "maxCommandsPerResponse": 1_000_000,
        }
    },
}
THINGS = {"type": "object", "properties": {"n": {"type": "integer"}}}
TASKS = 5


def main() -> None:
    for line in sys.stdin:
        home, seed = json.loads(line)
        child = os.fork()
        if child == 0:
            os.close(0)
            try:
                asyncio.run(work(Home(Path(home)), int(seed)))
            except DoorwardError as error:
                say("unusable", str(error))
            os._exit(1)
        say("began", child)
        _, status = os.waitpid(child, 0)
        say("over", os.waitstatus_to_exitcode(status))


async def work(home: Home, seed: int) -> None:
    home.create()
    if not HomeLock(home).take():
        say("unusable", "the lock is held")
        return
    async with open_house(home) as house:
        if house.services.recipes.policy("yard") is None:
            await ask(house, "recipe/put", id="yard", text=json.dumps(RECIPE))
        if house.services.rooms.get("local", "yard") is None:
            await ask(house, "room/create", name="yard", recipe="yard")
        if (await ask(house, "data/describe", collection="things")).status != "done":
            await ask(house, "collection/define", name="things", schema=THINGS)
        say("ready", house.recovered)
        await asyncio.gather(*(_go_on(house, f"{seed}-{number}") for number in range(TASKS)))


async def _go_on(house: House, name: str) -> None:
    chance = random.Random(name)
    count = 0
    while True:
        count += 1
        this = f"{name}-{count}"
        match chance.randrange(6):
            case 0 | 1:
                await ask(house, "file/write", by=name, path=f"{this}.txt", content=this)
            case 2:
                await ask(house, "data/create", by=name, collection="things", id=this, data={"n": count})
            case 3:
                await ask(house, "room/create", name=f"r{this}", recipe="yard")
            case 4:
                await ask(house, "data/list", by=name, collection="rooms", limit=count)
            case _:
                await ask(house, "file/read", by=name, path=f"no-{this}.txt")


async def ask(house: House, command: str, *, by: str = "", **params: Any) -> Any:
    outcome = await house.gate.handle(
        Request(
            command=command,
            credential=Credential(owner=True, speak_as=by),
            door="test",
            room="yard" if by else "",
            params=params,
            session=by,
        )
    )
    say("answer", outcome.call, outcome.status, outcome.code, command, params.get("path") or params.get("id") or "")
    return outcome


def say(*words: object) -> None:
    os.write(1, json.dumps(words).encode() + b"\n")


if __name__ == "__main__":
    main()
