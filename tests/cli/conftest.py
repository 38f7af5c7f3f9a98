from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doorward.upstream.client_files import TOKEN_VARIABLE
from doorward_process import BIN, Doorward


@pytest.fixture
def doorward(tmp_path: Path) -> Doorward:
    """The real executable with a home folder that does not exist yet."""
    return Doorward(tmp_path / "home")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Doorward:
    """The same for a whole file, where tests only look."""
    return Doorward(tmp_path_factory.mktemp("shared") / "home")


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An account of its own, with a project folder that we are in."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    for name in (TOKEN_VARIABLE, "DOORWARD_HOME", "XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(BIN / "doorward")])
    return tmp_path
