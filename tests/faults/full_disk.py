"""What happens on a disk that is full; run by test_full_disk.py where it may mount one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import own_mounts
from msgspec import Meta

from doorward.app import House, open_house
from doorward.config.home import Home
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import LedgerUnavailable
from doorward.core.model import Credential, Outcome, Request
from doorward.store.ledger.checkpoints import LedgerPaths
from doorward.store.ledger.verification import verify
from waiting import PATIENCE, until

RULES = {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 1_000_000}
RECIPE = {"recipeId": "lab", "displayName": "Lab", "strategy": {"aiCommands": RULES}}
DOORWARD = Path(sys.executable).with_name("doorward")
Text = Annotated[str, Meta(description="Any text")]


class Lab:
    """Commands that count their runs in memory, which no disk can stop."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.looked: list[str] = []
        self.release = asyncio.Event()
        self.family = Family("lab", category="test")
        common: dict[str, Any] = {
            "access": Access.READ,
            "safety": Safety.SAFE,
            "cost": 1,
            "timeout": 60,
            "examples": [Example("try it", {"text": "x"})],
        }
        writes = {"tier": Tier.CODE, "effects": Effects.WRITE, "undo": NoUndo("a test"), **common}
        reads = {"tier": Tier.INFORMATION, "effects": Effects.READ, "undo": READS_ONLY, **common}

        @self.family.command("touch", **writes)
        async def touch(ctx: Any, text: Text) -> str:
            """Change something."""
            self.ran.append(ctx.call.id)
            return text

        @self.family.command("wait", **writes)
        async def wait(ctx: Any, text: Text) -> str:
            """Change something, and take long over it."""
            self.ran.append(ctx.call.id)
            await self.release.wait()
            return text

        @self.family.command("look", **reads)
        async def look(ctx: Any, text: Text) -> str:
            """Look at something."""
            self.looked.append(ctx.call.id)
            return text


class Disk:
    def __init__(self, folder: Path, size: str) -> None:
        own_mounts.mount(folder, f"size={size}")
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Take every byte there is."""
        with contextlib.suppress(OSError), open(self._filler, "ab", buffering=0) as out:
            for size in (65_536, 4_096, 512, 1):
                with contextlib.suppress(OSError):
                    while True:
                        out.write(b"\0" * size)
        assert os.statvfs(self.folder).f_bavail == 0

    def free(self) -> None:
        self._filler.unlink()


class Asking:
    def __init__(self, house: House) -> None:
        self.house = house
        self.outcomes: list[Outcome] = []
        self._number = 0

    async def __call__(self, command: str, by: str = "tester", **params: Any) -> Outcome:
        self._number += 1
        room = "lab" if by else ""
        if command.startswith("lab/"):
            params = {"text": f"{self._number}"}
        outcome = await self.house.gate.handle(
            Request(
                command=command,
                credential=Credential(owner=True, speak_as=by),
                door="test",
                room=room,
                params=params,
                session=f"session {self._number}",
            )
        )
        self.outcomes.append(outcome)
        return outcome

    async def until_refused(self, command: str) -> Outcome:
        """What room the database already has on the disk is used up first."""
        for _ in range(2_000):
            outcome = await self(command)
            if outcome.code == "ledger_unavailable":
                return outcome
            assert outcome.code in ("ok", "unrecorded"), outcome
        raise AssertionError("a full disk refuses nothing")


@contextlib.asynccontextmanager
async def lab(disk: Disk) -> AsyncIterator[tuple[Asking, Lab]]:
    parts = Lab()
    home = Home(disk.folder / "home")
    async with open_house(home, families=[parts.family]) as house:
        ask = Asking(house)
        assert (await ask("recipe/put", by="", id="lab", text=json.dumps(RECIPE))).status == "done"
        assert (await ask("room/create", by="", name="lab", recipe="lab")).status == "done"
        yield ask, parts


async def refuses_and_recovers(disk: Disk) -> None:
    async with lab(disk) as (ask, parts):
        assert (await ask("lab/touch")).status == "done"
        disk.fill()
        refused = await ask.until_refused("lab/touch")
        assert ask.house.services.store.failing
        _is_a_refusal_of_the_ledger(refused)
        ran, looked = len(parts.ran), len(parts.looked)
        workspace = disk.folder / "home" / "workspace"
        for _ in range(30):
            _is_a_refusal_of_the_ledger(await ask("lab/touch"))
            _is_a_refusal_of_the_ledger(await ask("lab/look"))
            _is_a_refusal_of_the_ledger(await ask("file/write", path="a.txt", content="x"))
            _is_a_refusal_of_the_ledger(await ask("room/create", by="", name="another", recipe="lab"))
            _is_a_refusal_of_the_ledger(await ask("no/such"))
        assert len(parts.ran) == ran, "a change ran whose start was not stored"
        assert len(parts.looked) >= looked
        assert not (workspace / "a.txt").exists()
        disk.free()
        assert (await ask("lab/touch")).status == "done"
        assert not ask.house.services.store.failing
        assert (await ask("lab/look")).status == "done"
        assert (await ask("file/write", path="a.txt", content="x")).status == "done"
        await _holds(ask, parts)


async def owes_the_end(disk: Disk) -> None:
    async with lab(disk) as (ask, parts):
        waiting = [asyncio.ensure_future(ask("lab/wait")) for _ in range(3)]
        gone = asyncio.ensure_future(ask("lab/wait"))
        await until(lambda: len(parts.ran) == 4)
        disk.fill()
        await ask.until_refused("lab/touch")
        gone.cancel()
        parts.release.set()
        for ended in await asyncio.gather(*waiting):
            assert (ended.status, ended.code, ended.effect) == ("failed", "unrecorded", "unknown"), ended
            assert "could not be recorded" in ended.message
            assert "full" in ended.message
        await asyncio.wait([gone])
        store = ask.house.services.store
        assert store.has_owed_entries
        watching = asyncio.ensure_future(ask.house.ledger_maintainer.watch())
        await asyncio.sleep(1.2)  # the keeper tries once while the disk is full, and must survive that
        assert not watching.done()
        disk.free()
        await until(lambda: not store.has_owed_entries)
        assert (await ask("lab/touch")).status == "done"
        watching.cancel()
        rows = await _holds(ask, parts)
        ends = [row for row in rows if row["phase"] == "end" and row["command"] == "lab/wait"]
        assert sorted(row["code"] for row in ends) == ["cancelled", "ok", "ok", "ok"]


async def fills_again_and_again(disk: Disk) -> None:
    async with lab(disk) as (ask, parts):
        for _ in range(15):
            disk.fill()
            outcomes = await asyncio.gather(*(ask("lab/touch") for _ in range(60)))
            assert {outcome.code for outcome in outcomes} <= {"ok", "ledger_unavailable", "unrecorded"}
            await ask.until_refused("lab/touch")
            disk.free()
            outcomes = await asyncio.gather(*(ask("lab/touch") for _ in range(20)))
            assert {outcome.code for outcome in outcomes} == {"ok"}
            await ask.house.ledger_maintainer.checkpoint()
        await _holds(ask, parts)


async def checkpoints_survive(disk: Disk) -> None:
    """A checkpoint that the disk cuts in the middle is no forgery afterwards."""
    async with lab(disk) as (ask, parts):
        failed = 0
        for _ in range(60):
            assert (await ask("lab/touch")).status == "done"
            disk.fill()
            try:
                await ask.house.ledger_maintainer.checkpoint()
            except (OSError, LedgerUnavailable):
                failed += 1
            disk.free()
            assert (await ask("lab/touch")).status == "done"
            await ask.house.ledger_maintainer.checkpoint()
        assert failed
        await _holds(ask, parts)


def commands(disk: Disk) -> None:
    """The real executable, from the first use on."""
    disk.fill()
    for arguments in (["init"], ["run", "data/list", "--collection=rooms"], ["up", "--port", "0"], ["status"]):
        _complains(_doorward(disk, *arguments), "space", "full")
    disk.free()
    assert _doorward(disk, "init").returncode == 0
    disk.fill()
    for arguments in (
        ["run", "data/list", "--collection=rooms"],
        ["rooms", "create", "a", "--recipe", "admin"],
        ["status"],
    ):
        _complains(_doorward(disk, *arguments), "full")
    _complains(_doorward(disk, "up", "--port", "0"), "free some space on that disk, then start doorward again.")
    disk.free()
    listed = _doorward(disk, "run", "data/list", "--collection=rooms")
    assert listed.returncode == 0, listed.stderr
    assert [room["id"] for room in json.loads(listed.stdout)["result"]["items"]] == ["general"]
    assert _doorward(disk, "audit", "verify").returncode == 0


def _doorward(disk: Disk, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DOORWARD_HOME": str(disk.folder / "home")}
    return subprocess.run(
        [DOORWARD, *arguments], cwd="/", env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def _complains(done: subprocess.CompletedProcess[str], *words: str) -> None:
    said = done.stderr.lower()
    assert done.returncode in (3, 5), (done.args, done.returncode, done.stdout, done.stderr)
    assert "traceback" not in said, done.stderr
    assert "defect" not in said, done.stderr
    assert any(word in said for word in words), done.stderr


def _is_a_refusal_of_the_ledger(outcome: Outcome) -> None:
    assert (outcome.status, outcome.code, outcome.retry) == ("refused", "ledger_unavailable", "later"), outcome
    assert "full" in outcome.message, outcome.message
    assert outcome.hint == "Free some space on that disk; Doorward then continues automatically."
    assert outcome.effect == "none"


async def _holds(ask: Asking, parts: Lab) -> list[dict[str, Any]]:
    """The chain verifies; what ran is what started; each start has one end; what was answered is recorded."""
    rows = await ask.house.services.store.read("SELECT call, phase, command, status, code FROM ledger ORDER BY seq")
    starts = Counter(row["call"] for row in rows if row["phase"] == "start" and row["command"].startswith("lab/"))
    ends = Counter(row["call"] for row in rows if row["phase"] == "end" and row["command"].startswith("lab/"))
    assert starts == ends == Counter(parts.ran)
    recorded = {row["call"]: row["status"] for row in rows if row["phase"] != "start"}
    for outcome in ask.outcomes:
        if outcome.status == "done":
            assert recorded[outcome.call] == "done"
    home = Home(ask.house.home.path)
    assert verify(LedgerPaths.of(home.path), home.load_key()).broken == ""
    return rows


if __name__ == "__main__":
    scenario = globals()[sys.argv[1]](Disk(Path(sys.argv[2]), sys.argv[3]))
    if asyncio.iscoroutine(scenario):
        asyncio.run(scenario)
