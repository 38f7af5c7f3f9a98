"""What a program leaves in the workspace cannot lead Doorward's own file commands astray afterwards."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sandboxes import Box, opened_box

from doorward.core.errors import DoorwardError
from doorward.sandbox.safefs.root import SafeRoot
from waiting import PATIENCE

pytestmark = pytest.mark.anyio
_LARGEST = 100_000


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Box]:
    (tmp_path / "secret.txt").write_text("secret")
    async with opened_box(tmp_path) as box:
        (box.workspace / "folder").mkdir()
        (box.workspace / "folder" / "notes.txt").write_text("notes")
        yield box


LEFT = {
    "a symlink to a file outside": ("ln -s {outside}/secret.txt left", "left"),
    "a relative symlink": ("ln -s ../secret.txt left", "left"),
    "a symlink to a folder outside": ("ln -s {outside} left", "left/secret.txt"),
    "a symlink in place of a folder": ("rm -r folder; ln -s {outside} folder", "folder/secret.txt"),
    "a symlink to the system": ("ln -s /etc/passwd left", "left"),
    "a symlink to descriptors": ("ln -s /proc/self/fd left", "left/0"),
    "a symlink to itself": ("ln -s left left", "left"),
    "a chain of symlinks": ("ln -s {outside} a; ln -s a b; ln -s b left", "left/secret.txt"),
    "a pipe that nobody writes to": ("mkfifo left", "left"),
    "a socket": ("python3 -c 'import socket; socket.socket(1).bind(\"left\")'", "left"),
}


@pytest.mark.parametrize("what", LEFT)
async def test_what_is_left_is_not_followed_and_does_not_hold_anybody_up(what: str, box: Box) -> None:
    script, path = LEFT[what]
    ended = await box.bash(script.format(outside=box.workspace.parent))
    assert ended.exit_code == 0, ended.stderr
    assert (box.workspace / path.partition("/")[0]).is_symlink() or (box.workspace / path).exists()
    with SafeRoot(box.workspace) as root:
        with pytest.raises(DoorwardError) as refused:
            root.read(path, _LARGEST)
        assert "secret" not in str(refused.value).replace(path, "")
        with pytest.raises(DoorwardError), root.stage(path, b"overwritten", present=None, parents=True) as staged:
            staged.commit()
    assert (box.workspace.parent / "secret.txt").read_text() == "secret"


async def test_a_listing_shows_symlinks_and_does_not_enter_them(box: Box) -> None:
    await box.bash("ln -s / everything; ln -s .. up; ln -s . here; mkfifo pipe")
    with SafeRoot(box.workspace) as root:
        names = [entry.path for entry in root.walk(".", recursive=True, hidden=True)]
    assert sorted(names) == ["everything", "folder", "folder/notes.txt", "here", "pipe", "up"]


async def test_names_that_are_swapped_all_the_time_never_lead_outside(box: Box) -> None:
    """A program swaps a folder for a symlink as fast as it can while Doorward reads and writes through the name."""
    swapping = """
import ctypes, os
os.makedirs("swapped", exist_ok=True)
open("swapped/secret.txt", "w").write("harmless")
os.symlink(os.environ["OUTSIDE"], "other")
libc = ctypes.CDLL(None)
print("ready", flush=True)
while not os.path.exists("enough"):
    libc.renameat2(-100, b"swapped", -100, b"other", 2)
"""
    ready = asyncio.Event()
    environment = {"OUTSIDE": str(box.workspace.parent)}
    running = asyncio.create_task(
        box.python(swapping, environment=environment, seconds=2 * PATIENCE, on_output=lambda *_: ready.set())
    )
    read: set[str] = set()

    def look() -> None:
        with SafeRoot(box.workspace) as root:
            end = time.monotonic() + PATIENCE
            for number in itertools.count():
                if number >= 3_000 and (len(read) > 1 or time.monotonic() > end):
                    return
                try:
                    read.add(root.read("swapped/secret.txt", _LARGEST).data.decode())
                except DoorwardError as error:
                    read.add(type(error).__name__)

    await asyncio.wait_for(ready.wait(), PATIENCE)
    await asyncio.to_thread(look)
    (box.workspace / "enough").touch()
    ended = await running
    assert ended.exit_code == 0, ended.stderr
    assert "harmless" in read
    assert "secret" not in read
    assert len(read) > 1, "no swap was met, so this shows nothing"
