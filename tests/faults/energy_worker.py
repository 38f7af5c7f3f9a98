"""Charges energy at random until it is killed. It reads `database seed` lines and forks a child for each.

The child writes a line for each charge that was acknowledged.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from pathlib import Path

from doorward.config.settings import Settings
from doorward.core.classification import Access
from doorward.core.clock import Clock
from doorward.core.events import Bus
from doorward.core.model import Caller
from doorward.gate.energy import Energy
from doorward.store.sqlite import Store

AGENTS = ("ada", "bob", "eve")
TASKS = 4


def main() -> None:
    for line in sys.stdin:
        database, seed = json.loads(line)
        child = os.fork()
        if child == 0:
            os.close(0)
            asyncio.run(work(Path(database), int(seed)))
            os._exit(1)
        say("began", child)
        os.waitpid(child, 0)
        say("over")


def agent(name: str) -> Caller:
    return Caller("local", name, "ai", Access.EDIT, persona=True)


def open_energy(store: Store) -> Energy:
    return Energy(store, Clock(), Settings(), Bus(), lambda _, __: (None, 250.0), lambda _, __: True)


async def work(database: Path, seed: int) -> None:
    store = Store(database, b"k" * 32)
    energy = open_energy(store)
    await energy.load()
    await asyncio.gather(*(_go_on(energy, f"{seed}-{task}") for task in range(TASKS)))


async def _go_on(energy: Energy, name: str) -> None:
    """Charge for ever; every fifth time for what an earlier process or this one may have charged already."""
    chance = random.Random(name)
    seed, _, task = name.partition("-")
    count = 0
    while True:
        count += 1
        key = f"{name}-{count}"
        if chance.random() < 0.2:
            key = f"{chance.randrange(int(seed) + 1)}-{task}-{chance.randrange(1, count + 1)}"
        who, amount = AGENTS[len(key) % len(AGENTS)], random.Random(key).expovariate(1 / 3)
        new = await energy.charge(agent(who), key, amount, kind="model", room="lab", subject="m", tokens=1)
        say("charged", key, who, amount, new)


def say(*words: object) -> None:
    os.write(1, json.dumps(words).encode() + b"\n")


if __name__ == "__main__":
    main()
