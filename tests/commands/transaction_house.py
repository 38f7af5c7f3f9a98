"""A workspace that programs change: furnished, listed, and asked for through the gate."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

from doorward.core.model import Outcome


def workspace(driver: Any) -> Path:
    folder = Path(driver.house.home.path, "workspace")
    folder.mkdir(exist_ok=True)
    return folder


def listing(folder: Path) -> dict[str, tuple[int, str]]:
    """Every path with its mode and what it holds."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else "",
        )
        for path in folder.rglob("*")
    }


async def script(driver: Any, text: str, **more: Any) -> Outcome:
    """A script of the owner, outside rooms, where nobody needs to approve it."""
    outcome: Outcome = await driver.ask("bash", by="", room="", params={"command": text, **more})
    return outcome


async def parked(driver: Any, name: str = "bash", /, **params: Any) -> str:
    """The ticket of an agent's call in the first room, where people must approve it."""
    outcome = await driver.ask(name, params=params)
    assert outcome.status == "parked", outcome
    return str(outcome.ticket)


async def shown(driver: Any, ticket: str) -> dict[str, Any]:
    result: dict[str, Any] = (await driver.owner("approval/show", id=ticket)).result
    return result


async def approved(driver: Any, ticket: str) -> Outcome:
    await driver.owner("approval/approve", id=ticket)
    outcome: Outcome = await driver.ask("", ticket=ticket)
    return outcome


def end(marker: str) -> None:
    """Tell the program that has this text among its arguments to end: what is made outside, its view may not show."""
    for arguments in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if marker.encode() in arguments.read_bytes():
                os.kill(int(arguments.parent.name), signal.SIGUSR1)


BIG_CHANGE = (
    "echo new > new.txt; echo two >> notes.txt; rm -r docs; mkdir -p made/inner; echo deep > made/inner/deep.txt;"
    " ln -s notes.txt link; chmod 755 run.sh; rm old; mkdir old"
)


def furnish(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("a\n")
    (folder / "notes.txt").write_text("one\n")
    (folder / "run.sh").write_text("true\n")
    (folder / "old").write_text("old\n")
