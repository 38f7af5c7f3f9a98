"""Drafts survive a restart, and a merge that is killed leaves the workspace as it was."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import killed_merge
import pytest

from doorward.app import open_house
from doorward.config.home import Home
from doorward.core.model import Credential, Outcome, Request
from waiting import PATIENCE

pytestmark = pytest.mark.anyio

OLD = {"kept.txt": "kept\n", "old.txt": "old\n"}
NEW = {"kept.txt": "kept\nmore\n", **{f"{n}.txt": "new\n" for n in range(1, 5)}}


async def ask(house, command: str, by: str = "", /, **params) -> Outcome:
    credential = Credential(owner=True, speak_as=by)
    return await house.gate.handle(
        Request(command=command, credential=credential, door="test", room="app", params=params)
    )


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def kill_at_step(home: Path, project: Path, step: int) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, killed_merge.__file__, str(home), str(project), str(step)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)


@pytest.mark.parametrize("step", [0, 1, 3, 6, 7, 99])
async def test_a_merge_that_is_killed_at_any_step_changes_everything_or_nothing(tmp_path, step):
    project = tmp_path / "project"
    project.mkdir()
    for name, text in OLD.items():
        (project / name).write_text(text)
    home = tmp_path / "home"
    ended = await asyncio.to_thread(kill_at_step, home, project, step)
    merged = step == 99
    assert ended.returncode == (0 if merged else -signal.SIGKILL), ended.stderr
    async with open_house(Home(home)) as house:
        assert content(project) == (NEW if merged else OLD)
        status = await ask(house, "draft/status", "claude")
        assert status.result["changes"]["total"] == (0 if merged else 6)
        if not merged:
            assert (await ask(house, "file/read", "claude", path="4.txt")).result["content"] == "new\n"
            assert (await ask(house, "draft/merge")).status == "done"
        assert content(project) == NEW
