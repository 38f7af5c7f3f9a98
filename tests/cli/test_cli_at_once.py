"""Several `doorward` commands at once on one home folder, without a server."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from doorward.cli import local_client
from doorward.cli.main import main
from doorward.config.home import Home, HomeLock
from doorward_process import Doorward
from waiting import PATIENCE


def test_commands_at_once_all_succeed_and_are_all_recorded(doorward: Doorward) -> None:
    """Also on a home that none of them finds made. Each waits for its turn, and gives up after ten seconds."""
    number = 3
    started = [doorward.started("run", "data/list", "--collection=recipes", f"--limit={n + 1}") for n in range(number)]
    ended = []
    for process in started:
        with process:
            ended.append((*process.communicate(timeout=PATIENCE), process.returncode))
    assert [code for _, _, code in ended] == [0] * number, ended
    assert sorted(len(json.loads(out)["result"]["items"]) for out, _, _ in ended) == [
        min(n + 1, 7) for n in range(number)
    ]
    assert sum("Created the home folder" in err for _, err, _ in ended) == 1
    verified = doorward("audit", "verify")
    assert (verified.code, verified.json["records"]) == (0, number)


def test_a_home_that_stays_locked_names_the_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path / "home")
    home.create()
    monkeypatch.setenv("DOORWARD_HOME", str(home.path))
    monkeypatch.setattr(sys, "argv", ["doorward", "run", "data/list", "--collection=rooms"])
    monkeypatch.setattr(local_client, "_PATIENCE", 0.1)
    with HomeLock(home) as lock:
        assert lock.take()
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 3
    assert f"refused (overloaded) This home folder is in use by process {os.getpid()}." in capsys.readouterr().err


def test_a_killed_command_leaves_the_lock_free(doorward: Doorward) -> None:
    with doorward.started("run", "--wait", "file/write", "--path=a", "--content=a") as waiting:
        assert waiting.stderr is not None
        assert any("Waiting for approval" in line for line in iter(waiting.stderr.readline, ""))
        waiting.send_signal(signal.SIGKILL)
    assert doorward("run", "data/count", "--collection=rooms").code == 0
    assert doorward("audit", "verify").code == 0
