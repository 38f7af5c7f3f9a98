"""A folder that is swapped with a symlink to the outside, as fast as the machine can, while files are written."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from file_house import FileHouse

from doorward.errors import BadParams, Conflict, NotFound

SECONDS = 10.0

SWAPPER = """
import ctypes, sys, time
one, other, seconds = sys.argv[1].encode(), sys.argv[2].encode(), float(sys.argv[3])
renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
HERE, EXCHANGE = -100, 2
print("ready", flush=True)
swaps, end = 0, time.monotonic() + seconds
while time.monotonic() < end:
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
        [sys.executable, "-c", SWAPPER, house.workspace / "d", house.workspace / "other", str(SECONDS)],
        stdout=subprocess.PIPE,
        text=True,
    ) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == "ready\n"
        counts = asyncio.run(working(house, time.monotonic() + SECONDS))
        swaps = int(swapper.stdout.readline())
    house.close()

    assert sorted(one.name for one in outside.iterdir()) == ["canary", "secret", "x"]
    assert (outside / "x").read_text() == (outside / "secret").read_text() == "outside"
    assert swaps > 20_000
    assert counts["written"] > 50
    assert counts["made"] > 10
    assert counts["read"] > 20
    assert counts["refused"] > 50


async def working(house: FileHouse, end: float) -> Counter[str]:
    counts = sum(await asyncio.gather(writing(house, end), making(house, end), reading(house, end)), Counter[str]())
    kept = await house.store.read("SELECT before FROM before_images WHERE target = 'd/x'")
    assert b"outside" not in {row["before"] for row in kept}
    return counts


async def writing(house: FileHouse, end: float) -> Counter[str]:
    counts: Counter[str] = Counter()
    while time.monotonic() < end:
        try:
            await house.run("file/write", path="d/x", content=f"written {counts.total()}")
            counts["written"] += 1
        except (BadParams, Conflict, NotFound):
            counts["refused"] += 1
    return counts


async def making(house: FileHouse, end: float) -> Counter[str]:
    """New files in new folders, which are made level by level."""
    counts: Counter[str] = Counter()
    while time.monotonic() < end:
        try:
            await house.run("file/write", path=f"d/new/{counts.total()}/file", content="made")
            counts["made"] += 1
        except (BadParams, Conflict, NotFound):
            counts["refused"] += 1
    return counts


async def reading(house: FileHouse, end: float) -> Counter[str]:
    counts: Counter[str] = Counter()
    while time.monotonic() < end:
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
    return counts
