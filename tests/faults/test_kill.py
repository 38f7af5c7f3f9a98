"""R5.3: kill -9 at any moment, then restart: every started call has exactly one end, and the chain verifies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from doorward.app import open_house
from doorward.config.home import Home
from doorward.store.ledger.checkpoints import LedgerPaths
from doorward.store.ledger.verification import verify
from waiting import PATIENCE, wait_until

WORKER = Path(__file__).with_name("kill_worker.py")
DOORWARD = Path(sys.executable).with_name("doorward")


class Victim:
    """Starts workers one after the other, and kills each of them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._rest = b""
        self._alive = 0

    def run(self, home: Home, seed: int, *, seconds: float = 60.0, answers: int = 1_000_000) -> list[list[Any]]:
        """Let a worker live for so long, or for so many answers; gives what it said before it was killed."""
        self._in.write(json.dumps([str(home.path), seed]).encode() + b"\n")
        self._in.flush()
        said = [self._line(PATIENCE)]
        self._alive = said[0][1]
        deadline = time.monotonic() + seconds
        while sum(words[0] == "answer" for words in said) < answers:
            line = self._line(deadline - time.monotonic())
            if not line:
                break
            said.append(line)
            if line[0] == "over":
                self._alive = 0
                raise AssertionError(f"the worker ended by itself: {said[-3:]}")
        os.kill(self._alive, signal.SIGKILL)
        while said[-1][0] != "over":
            said.append(self._line(PATIENCE))
        self._alive = 0
        assert said[-1] == ["over", -signal.SIGKILL], said[-3:]
        return said

    def close(self) -> None:
        if self._alive:
            os.kill(self._alive, signal.SIGKILL)
        self._in.close()
        self._process.wait()
        self._out.close()

    def _line(self, seconds: float) -> list[Any]:
        deadline = time.monotonic() + seconds
        while b"\n" not in self._rest:
            if not select.select([self._out], [], [], max(0.0, deadline - time.monotonic()))[0]:
                return []
            some = os.read(self._out.fileno(), 65_536)
            assert some, "the parent of the workers died"
            self._rest += some
        line, _, self._rest = self._rest.partition(b"\n")
        return list(json.loads(line))


@pytest.fixture
def victims() -> Iterator[list[Victim]]:
    """Two, since there are two processors; imports are done once in each."""
    both = [Victim(), Victim()]
    yield both
    for one in both:
        one.close()


def test_fifty_kills_at_work_lose_no_record(victims: list[Victim], tmp_path: Path) -> None:
    def one_lane(lane: int) -> tuple[int, int]:
        chance = random.Random(lane)
        kills = recovered = 0
        for number in range(2):
            home, answered = Home(tmp_path / f"work-{lane}-{number}"), dict[str, list[Any]]()
            for round_ in range(13):
                seed = lane * 10_000 + number * 100 + round_
                when: dict[str, Any] = (
                    {"answers": chance.randrange(1, 120)}
                    if chance.random() < 0.6
                    else {"seconds": chance.uniform(0, 0.25)}
                )
                for words in victims[lane].run(home, seed, **when):
                    if words[0] == "answer" and words[1]:
                        answered[words[1]] = words
                kills += 1
                if chance.random() < 0.3:
                    recovered += asyncio.run(_check(home, answered))
            recovered += asyncio.run(_check(home, answered))
        return kills, recovered

    with ThreadPoolExecutor(2) as lanes:
        done = list(lanes.map(one_lane, range(2)))
    assert sum(kills for kills, _ in done) >= 50
    assert sum(recovered for _, recovered in done) > 15, "few kills struck in the middle of a call"


def test_a_kill_at_any_moment_of_first_use_leaves_a_home_that_opens(victims: list[Victim], tmp_path: Path) -> None:
    def one_lane(lane: int) -> int:
        chance = random.Random(100 + lane)
        victims[lane].run(Home(tmp_path / f"warm-{lane}"), 0, answers=1)
        begun, unmade = time.monotonic(), 0
        victims[lane].run(Home(tmp_path / f"whole-{lane}"), 0, answers=1)
        whole = time.monotonic() - begun
        for number in range(12):
            home = Home(tmp_path / f"first-{lane}-{number}")
            victims[lane].run(home, number, seconds=chance.uniform(0, whole))
            if chance.random() < 0.3:
                victims[lane].run(home, number, seconds=chance.uniform(0, whole))
            unmade += not home.database.exists()
            asyncio.run(_check(home, {}))
        return unmade

    with ThreadPoolExecutor(2) as lanes:
        unmade = sum(lanes.map(one_lane, range(2)))
    assert unmade < 24, "every kill came before the database was there; they should spread over the start"


def test_a_kill_of_the_real_command_during_first_use_leaves_a_home_that_opens(tmp_path: Path) -> None:
    chance = random.Random(7)
    for number in range(4):
        home = Home(tmp_path / f"real-{number}")
        process = subprocess.Popen(
            [DOORWARD, "init"], env={**os.environ, "DOORWARD_HOME": str(home.path)}, stdout=subprocess.DEVNULL
        )
        wait_until(lambda home=home, process=process: home.path.exists() or process.poll() is not None, pace=0.001)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, 0.08))
        process.kill()
        process.wait()
        asyncio.run(_check(home, {}))


async def _check(home: Home, answered: dict[str, list[Any]]) -> int:
    """Open a home as the next process would, and hold its ledger against what the dead one had answered."""
    if _has_a_ledger(home):
        assert _verified(home), "before anything was repaired"
    async with open_house(home) as house:
        assert house.services.recipes.problems == {}
        assert len(house.services.recipes.recipes()) >= 7
        rows = await house.services.store.read("SELECT call, phase, status, code FROM ledger ORDER BY seq")
        open_calls = await house.services.store.read("SELECT call FROM open_calls")
        records = await house.services.store.read("SELECT id FROM records WHERE collection = 'things'")
        recovered = house.recovered
    assert _verified(home)
    assert open_calls == []
    starts = Counter(row["call"] for row in rows if row["phase"] == "start")
    ends = {row["call"]: row for row in rows if row["phase"] == "end"}
    wholes = {row["call"]: row for row in rows if row["phase"] == "whole" and row["call"]}
    finals = Counter(row["call"] for row in rows if row["phase"] != "start" and row["call"])
    assert set(starts.values()) <= {1}
    assert set(finals.values()) <= {1}
    assert set(starts) == set(ends)
    there = {record["id"] for record in records}
    for call, (_, _, status, code, command, name) in answered.items():
        final = ends.get(call) or wholes.get(call)
        assert final is not None, f"{command} was answered, and left no record"
        assert (final["status"], final["code"]) == (status, code)
        if status == "done" and command == "file/write":
            assert (home.path / "workspace" / name).read_text() == name.removesuffix(".txt")
        if status == "done" and command == "data/create":
            assert name in there
    return recovered


def _has_a_ledger(home: Home) -> bool:
    if not home.database.exists():
        return False
    with contextlib.closing(sqlite3.connect(home.database)) as db:
        return bool(db.execute("PRAGMA user_version").fetchone()[0])


def _verified(home: Home) -> bool:
    found = verify(LedgerPaths.of(home.path), home.load_key())
    assert found.broken == ""
    return True
