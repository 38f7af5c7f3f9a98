"""Counts and collects the energy of sub-agent requests until it is killed. It reads a database and forks for each line.

The child writes a line before and after each charge, and after each collection, so that it can be killed anywhere.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from doorward.agents.effort.sub_agent_energy import EnergyAccount
from doorward.config.settings import Settings
from doorward.core.classification import Access
from doorward.core.clock import Clock
from doorward.core.events import Bus
from doorward.core.ids import new_id
from doorward.core.model import Caller
from doorward.gate.energy import Energy
from doorward.store import subagent_requests as sql
from doorward.store.sqlite import Store
from doorward.store.subagent_requests import SubAgentRequest

AGENT = Caller("local", "ada", "ai", Access.EDIT, persona=True)
REQUESTS = 3


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.close(0)
            asyncio.run(work(Path(json.loads(line))))
            os._exit(1)
        say("began", child)
        os.waitpid(child, 0)
        say("over")


async def open_energy(store: Store) -> Energy:
    energy = Energy(store, Clock(), Settings(), Bus(), lambda _, __: (None, 250.0), lambda _, __: True)
    await energy.load()
    return energy


async def work(database: Path) -> None:
    store = Store(database, b"k" * 32)
    energy = await open_energy(store)
    found = await sql.unfinished(store, "local", AGENT.id)
    await asyncio.gather(*(_go_on(store, energy, one) for one in [*found, *map(_make, range(REQUESTS - len(found)))]))


def _make(_: int) -> SubAgentRequest:
    return SubAgentRequest(
        id=new_id(),
        tenant="local",
        agent=AGENT.id,
        room="lab",
        asker="owner",
        kind="test_server",
        params={"server": "time"},
        priority="medium",
        state="in_progress",
        created_at=1.0,
    )


async def _go_on(store: Store, energy: Energy, request: SubAgentRequest) -> None:
    """Work for ever. The row is stored all the time beside the collections, as by a request that makes progress."""
    account = EnergyAccount(store, Clock(), 2.0, request)
    account.start()

    async def charge(key: str, amount: float) -> bool:
        say("charges", key)
        is_new = await energy.charge(AGENT, key, amount, kind="subagent")
        say("charged", key)
        return is_new

    async def save() -> None:
        while True:
            async with account.lock:
                await store.write(sql.put(msgspec.structs.replace(request, energy=account.storable)))

    async def collect() -> None:
        while True:
            say("collected", request.id, await account.collect(charge))

    await asyncio.gather(save(), collect())


def say(*words: Any) -> None:
    os.write(1, json.dumps(words).encode() + b"\n")


if __name__ == "__main__":
    main()
