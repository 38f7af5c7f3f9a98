"""Drafts work alike for root and for an ordinary user, whose permissions the kernel checks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import draft_agent
import ordinary
import pytest
from users import AS_ROOT, USERS, as_user


@pytest.fixture(params=USERS)
def who(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(who: str) -> Iterator[Path]:
    """A folder of this user outside /tmp, of which every sandbox has its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="doorward-agent-") as made:
        if AS_ROOT and who == "user":
            os.chown(made, ordinary.USER, ordinary.USER)
        yield Path(made)


@pytest.mark.parametrize("scenario", draft_agent.SCENARIOS)
def test_an_agent_works_in_a_draft(who: str, folder: Path, scenario: str) -> None:
    words = as_user(who, [sys.executable, draft_agent.__file__, str(folder), scenario])
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
