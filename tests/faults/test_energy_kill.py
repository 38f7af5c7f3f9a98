"""R12.1: kill -9 at any moment loses no charge that was acknowledged and counts none twice, to the last digit."""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from energy_worker import AGENTS, agent, open_energy

from doorward.config.settings import EnergySettings
from doorward.store.sqlite import Store

WORKER = Path(__file__).with_name("energy_worker.py")
KILLS = 50
RATE = 250.0


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def test_ten_thousand_charges_and_fifty_kills_add_up_exactly(worker: subprocess.Popen[bytes], tmp_path: Path) -> None:
    database, chance = tmp_path / "energy.db", random.Random(12)
    charged: dict[str, tuple[str, float]] = {}
    operations = 0
    for seed in range(KILLS):
        operations += _run(worker, database, seed, chance.randrange(120, 300), charged)
    assert operations >= 10_000
    with closing(sqlite3.connect(database)) as db:
        rows = db.execute("SELECT key, caller, amount, at, level, tokens FROM energy_charges ORDER BY rowid").fetchall()
        pools = dict(db.execute("SELECT caller, level FROM energy").fetchall())
    stored = {key: (who, amount) for key, who, amount, *_ in rows}
    assert len(stored) == len(rows)
    assert charged.items() <= stored.items(), "an acknowledged charge is gone"
    for key, (_, amount) in stored.items():
        assert amount == random.Random(key).expovariate(1 / 3), "somebody else's charge"
    for who in AGENTS:
        assert _replay(rows, who) == pools[who]
    spent, levels = asyncio.run(_reopen(database))
    for who in AGENTS:
        amounts = [amount for owner, amount in stored.values() if owner == who]
        assert spent[who] == (math.fsum(amounts), len(amounts))
        assert pools[who] <= levels[who] <= 100


def _run(
    worker: subprocess.Popen[bytes], database: Path, seed: int, answers: int, charged: dict[str, tuple[str, float]]
) -> int:
    """Let a child charge until it was answered so often, and kill it. Returns how many answers it got in all."""
    assert worker.stdin is not None
    worker.stdin.write(json.dumps([str(database), seed]).encode() + b"\n")
    worker.stdin.flush()
    child, operations = 0, 0
    while True:
        words = _line(worker)
        match words[0]:
            case "began":
                child = words[1]
            case "charged":
                _, key, who, amount, new = words
                assert not (new and key in charged), "a charge was counted twice"
                operations += 1
                if new:
                    charged[key] = who, amount
                if operations == answers:
                    os.kill(child, signal.SIGKILL)
            case "over":
                return operations


def _line(worker: subprocess.Popen[bytes]) -> list[Any]:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    assert line, "the parent of the workers died"
    return list(json.loads(line))


def _replay(rows: list[tuple[Any, ...]], who: str) -> float:
    """The level that follows from the charges alone, by the definition in store/energy.py."""
    limits = EnergySettings()
    level, last = limits.start, math.inf
    for _, caller, amount, at, after, _ in rows:
        if caller == who:
            level = max(limits.floor, min(limits.ceiling, level + max(0.0, at - last) * RATE) - amount)
            last = at
            assert level == after
    return level


async def _reopen(database: Path) -> tuple[dict[str, tuple[float, int]], dict[str, float]]:
    store = Store(database, b"k" * 32)
    energy = open_energy(store)
    await energy.load()
    spent = {who: await energy.spent("local", agent=who) for who in AGENTS}
    levels = {who: energy.level(agent(who)) for who in AGENTS}
    store.close()
    return {who: (one.energy, one.tokens) for who, one in spent.items()}, levels
