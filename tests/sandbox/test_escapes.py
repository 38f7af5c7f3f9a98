"""Programs that try to get out of the sandbox: each works outside it, as a canary shows, and is held inside it."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import escape_table
import pytest
from attack import Attack
from attacks import for_user
from users import AS_ROOT, USERS, as_user, own_folder

_PATIENCE = 900.0
TRIED = {who: for_user(who, lent=AS_ROOT and who == "user") for who in USERS}

Table = dict[str, Any]


def _lend(folder: Path) -> None:
    """Lay a set-user-id program of root's into an ordinary user's folder."""
    lent = folder / "lent"
    shutil.copy("/usr/bin/id", lent)
    lent.chmod(0o4755)


@pytest.fixture(scope="module")
def tables() -> Iterator[dict[str, Table]]:
    """How every attack went for every user. The users try theirs at the same time."""
    running: dict[str, subprocess.Popen[str]] = {}
    with contextlib.ExitStack() as stack:
        for who in USERS:
            folder = stack.enter_context(own_folder(who))
            if AS_ROOT and who == "user":
                _lend(folder)
            running[who] = subprocess.Popen(
                as_user(who, [sys.executable, escape_table.__file__, str(folder)]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.callback(running[who].communicate)
            stack.callback(running[who].kill)
        found = {}
        for who, process in running.items():
            out, err = process.communicate(timeout=_PATIENCE)
            assert process.returncode == 0, err
            found[who] = json.loads(out)
        yield found


@pytest.mark.parametrize("who", USERS)
def test_the_sandbox_is_full_here(who: str, tables: dict[str, Table]) -> None:
    assert tables[who]["level"] == "full"


@pytest.mark.parametrize("who", USERS)
def test_every_attack_of_the_table_was_tried_and_most_work_here(who: str, tables: dict[str, Table]) -> None:
    names = [attack.name for attack in TRIED[who]]
    assert len(set(names)) == len(names)
    assert list(tables[who]["attacks"]) == names
    assert sum(tried["outside"]["escaped"] for tried in tables[who]["attacks"].values()) >= 150


@pytest.mark.parametrize(
    ("who", "attack"), [pytest.param(who, attack, id=f"{who}: {attack.name}") for who in USERS for attack in TRIED[who]]
)
def test_what_works_outside_is_held_inside(who: str, attack: Attack, tables: dict[str, Table]) -> None:
    outside, inside = (tables[who]["attacks"][attack.name][where] for where in ("outside", "inside"))
    assert outside["escaped"] or attack.rare, f"the canary does not work, so this shows nothing: {outside['said']}"
    assert inside["ran"], f"the attack was not really tried: {inside['said']}"
    assert not inside["escaped"], inside["said"]
