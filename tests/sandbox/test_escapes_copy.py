"""On a copy-on-write view programs see what they change, and nobody else does."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sandboxes import Box, opened_box

from waiting import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Box]:
    async with opened_box(tmp_path) as box:
        (box.workspace / "kept.txt").write_text("as it was")
        (box.workspace / "kept.txt").chmod(0o640)
        (box.workspace / "folder").mkdir()
        (box.workspace / "folder" / "inner.txt").write_text("deep")
        (box.workspace / "link").symlink_to("kept.txt")
        os.link(box.workspace / "kept.txt", tmp_path / "linked-from-outside.txt")
        yield box


def everything(folder: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in (folder, *folder.rglob("*")):
        facts = path.lstat()
        content = b"" if path.is_dir() or path.is_symlink() else hashlib.sha256(path.read_bytes()).digest()
        target = os.readlink(path) if path.is_symlink() else ""
        found[str(path)] = (facts.st_mode, facts.st_mtime_ns, facts.st_nlink, facts.st_ino, content, target)
    return found


CHANGES = {
    "create": ("echo new > new.txt", "cat new.txt", "new"),
    "overwrite": ("echo changed > kept.txt", "cat kept.txt", "changed"),
    "append": ("echo ' and more' >> kept.txt", "cat kept.txt", "as it was and more"),
    "delete": ("rm kept.txt", "ls", "folder\nlink"),
    "rename": ("mv kept.txt moved.txt", "cat moved.txt", "as it was"),
    "rename a folder": ("mv folder other", "cat other/inner.txt", "deep"),
    "delete a folder": ("rm -r folder", "ls", "kept.txt\nlink"),
    "change the mode": ("chmod 600 kept.txt", "stat -c %a kept.txt", "600"),
    "change the times": ("touch -d @1 kept.txt", "stat -c %Y kept.txt", "1"),
    "symlink": ("ln -s folder sym", "readlink sym", "folder"),
    "replace a symlink": ("ln -sf folder/inner.txt link", "cat link", "deep"),
    "hard link": ("ln kept.txt twin && echo x > twin", "cat twin", "x"),
    "write through a symlink": ("echo through > link", "cat kept.txt", "through"),
    "cut": ("truncate -s 2 kept.txt", "cat kept.txt", "as"),
    "pipe": ("mkfifo pipe", "stat -c %F pipe", "fifo"),
    "replace a folder with a file": ("rm -r folder && echo file > folder", "cat folder", "file"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_is_seen_by_the_program_and_by_nobody_else(change: str, box: Box) -> None:
    before = everything(box.workspace)
    doing, looking, expected = CHANGES[change]
    ended = await box.bash(f"{doing} && {looking}", files="copy")
    assert (ended.exit_code, ended.stdout.decode().strip(), ended.stderr) == (0, expected, b"")
    assert everything(box.workspace) == before
    again = await box.bash(looking, files="copy")
    assert again.stdout.decode().strip() != expected, "the next program sees what the last one changed"


async def test_a_view_shows_what_the_workspace_is_now(box: Box) -> None:
    assert (await box.bash("cat kept.txt", files="copy")).stdout == b"as it was"
    (box.workspace / "kept.txt").write_text("changed outside")
    assert (await box.bash("cat kept.txt", files="copy")).stdout == b"changed outside"


LAYERS = {
    "list the layers": "ls -A /run/layers | grep .",
    "read the upper layer": "echo x > new.txt; cat /run/layers/upper/new.txt",
    "write the upper layer": "echo x > /run/layers/upper/planted",
    "write the spare folder": "echo x > /run/layers/spare/planted",
    "plant beside the layers": "mkdir /run/layers/planted",
    "reach the workspace beneath by its path": "ls /proc/self/root/run/layers/upper",
    "make a hidden removal": "mknod gone c 0 0",
    "mark a folder as opaque": "setfattr -n trusted.overlay.opaque -v y folder",
}


@pytest.mark.parametrize("attack", LAYERS)
async def test_the_layers_of_a_view_are_out_of_reach(attack: str, box: Box) -> None:
    before = everything(box.workspace)
    ended = await box.bash(LAYERS[attack], files="copy")
    assert ended.exit_code != 0, ended
    assert everything(box.workspace) == before


async def test_programs_on_two_views_at_once_do_not_see_each_other(box: Box) -> None:
    ready = asyncio.Event()
    first = asyncio.create_task(
        box.bash("echo x > mine; ls; exec sleep 30", files="copy", on_output=lambda *_: ready.set())
    )
    await asyncio.wait_for(ready.wait(), PATIENCE)
    second = await box.bash("ls", files="copy")
    assert not first.done()
    first.cancel()
    await asyncio.wait([first])
    assert second.stdout.decode().split() == ["folder", "kept.txt", "link"]
