"""R12.3: kill -9 at any moment neither loses energy of a sub-agent that is stored nor charges it twice."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sub_agent_energy_worker import AGENT, open_energy

from doorward.agents.effort.sub_agent_energy import EnergyAccount
from doorward.core.clock import Clock
from doorward.store import subagent_requests as sql
from doorward.store.sqlite import Store

WORKER = Path(__file__).with_name("sub_agent_energy_worker.py")
KILLS = 40


def test_the_parts_of_each_request_are_charged_once_over_forty_kills(tmp_path: Path) -> None:
    database, chance = tmp_path / "house.db", random.Random(7)
    with subprocess.Popen([sys.executable, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        for _ in range(KILLS):
            _run(worker, database, chance.randrange(1, 100))
        assert worker.stdin is not None
        worker.stdin.close()
    asyncio.run(_collect_the_rest(database))
    with closing(sqlite3.connect(database)) as db:
        charges = db.execute("SELECT key, amount FROM energy_charges WHERE kind = 'subagent'").fetchall()
        requests = db.execute("SELECT id, energy, collected FROM subagent_requests").fetchall()
    assert len(charges) > KILLS
    for id, energy, collected in requests:
        assert collected == energy > 0
        end = 0.0
        for start, amount in sorted((float(key.partition(":")[2]), amount) for key, amount in charges if id in key):
            assert start == pytest.approx(end, abs=1e-9), "a part is missing, or two overlap"
            end = start + amount
        assert end == pytest.approx(energy, abs=1e-9)


def _run(worker: subprocess.Popen[bytes], database: Path, steps: int) -> None:
    """Let a child take so many steps, and kill it."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(json.dumps(str(database)).encode() + b"\n")
    worker.stdin.flush()
    child = 0
    while True:
        words = json.loads(worker.stdout.readline())
        if words[0] == "over":
            return
        if words[0] == "began":
            child = words[1]
        else:
            steps -= 1
            if steps == 0:
                os.kill(child, signal.SIGKILL)


async def _collect_the_rest(database: Path) -> None:
    store = Store(database, b"k" * 32)
    energy = await open_energy(store)

    async def charge(key: str, amount: float) -> bool:
        return await energy.charge(AGENT, key, amount, kind="subagent")

    for request in await sql.unfinished(store, "local", AGENT.id):
        await EnergyAccount(store, Clock(), 2.0, request).collect(charge)
    store.close()
