"""A folder that is swapped with a symlink to the outside, as fast as the machine can, while files are written."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from file_house import FileHouse

from doorward.core.errors import BadParams, Conflict, NotFound
from doorward.sandbox.safefs import SafeRoot
from waiting import PATIENCE

SECONDS = 4.0
"""So long at least; on a slow machine it goes on until enough was tried."""
ENOUGH = Counter(written=50, made=10, read=20, refused=50)

SWAPPER = """
import ctypes, select, sys
one, other = sys.argv[1].encode(), sys.argv[2].encode()
renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
HERE, EXCHANGE = -100, 2
print("ready", flush=True)
swaps = 0
while swaps < 20_000 or not select.select([0], [], [], 0)[0]:
    for _ in range(100):
        if renameat2(HERE, one, HERE, other, EXCHANGE):
            sys.exit(f"renameat2: errno {ctypes.get_errno()}")
        swaps += 1
print(swaps)
"""


def test_no_write_and_no_read_escapes_through_a_swapped_folder(tmp_path: Path) -> None:
    """R6.5: of all the moments in which `d` is a symlink to the outside, none is used."""
    house = FileHouse(tmp_path)
    outside = tmp_path / "outside"
    for folder, secret in ((house.workspace / "d", "inside"), (outside, "outside")):
        folder.mkdir()
        (folder / "secret").write_text(secret)
        (folder / "x").write_text(secret)
    (outside / "canary").touch()
    (house.workspace / "other").symlink_to(outside)

    with subprocess.Popen(
        [sys.executable, "-c", SWAPPER, house.workspace / "d", house.workspace / "other"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as swapper:
        assert swapper.stdin is not None
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == "ready\n"
        asyncio.run(working(house))
        swapper.stdin.close()
        swapper.stdout.read()
    house.close()

    assert sorted(one.name for one in outside.iterdir()) == ["canary", "secret", "x"]
    assert (outside / "x").read_text() == (outside / "secret").read_text() == "outside"


async def working(house: FileHouse) -> None:
    """Write, make and read until there was time and enough of each succeeded or was refused."""
    counts: Counter[str] = Counter()
    begun = time.monotonic()

    def goes_on() -> bool:
        passed = time.monotonic() - begun
        assert passed < PATIENCE, f"too little was done: {counts}"
        return passed < SECONDS or not counts > ENOUGH

    await asyncio.gather(
        writing(house, counts, goes_on), making(house, counts, goes_on), reading(house, counts, goes_on)
    )
    kept = await house.store.read("SELECT before FROM before_images WHERE target = 'd/x'")
    assert b"outside" not in {row["before"] for row in kept}


async def writing(house: FileHouse, counts: Counter[str], goes_on: Callable[[], bool]) -> None:
    while goes_on():
        try:
            await house.run("file/write", path="d/x", content=f"written {counts.total()}")
            counts["written"] += 1
        except (BadParams, Conflict, NotFound):
            counts["refused"] += 1


async def making(house: FileHouse, counts: Counter[str], goes_on: Callable[[], bool]) -> None:
    """New files in new folders, which are made level by level."""
    while goes_on():
        try:
            await house.run("file/write", path=f"d/new/{counts.total()}/file", content="made")
            counts["made"] += 1
        except (BadParams, Conflict, NotFound):
            counts["refused"] += 1


async def reading(house: FileHouse, counts: Counter[str], goes_on: Callable[[], bool]) -> None:
    while goes_on():
        try:
            read = await house.run("file/read", path="d/secret")
            assert read["content"] == "inside"
            listed = await house.run("file/list", path="d")
            assert "d/canary" not in {item["path"] for item in listed["items"]}
            found = await house.run("file/search", pattern="outside", path="d", glob="secret")
            assert found["items"] == []
            counts["read"] += 1
        except (BadParams, NotFound):
            counts["refused"] += 1


def test_a_change_that_is_not_made_yet_has_left_no_file_for_a_crash_to_leave_behind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    with SafeRoot(tmp_path) as root:
        present = root.read_existing("a.txt", 100)
        assert present is not None
        with root.stage("a.txt", b"new", present=present.mark, parents=False) as change:
            assert os.listdir(tmp_path) == ["a.txt"]
            change.commit()
    assert (os.listdir(tmp_path), (tmp_path / "a.txt").read_text()) == (["a.txt"], "new")
