"""Several `doorward` commands at once on one home folder, without a server."""

from __future__ import annotations

import json
import os
import signal

import pytest

from doorward.home import Home, Lock
from doorward_process import Doorward


@pytest.mark.parametrize("number", [2, 6])
def test_commands_at_once_all_succeed_and_are_all_recorded(number: int, doorward: Doorward) -> None:
    """Also on a home that none of them finds made."""
    started = [doorward.started("run", "data/list", "--collection=recipes", f"--limit={n + 1}") for n in range(number)]
    ended = []
    for process in started:
        with process:
            ended.append((*process.communicate(timeout=120), process.returncode))
    assert [code for _, _, code in ended] == [0] * number, ended
    assert sorted(len(json.loads(out)["result"]["items"]) for out, _, _ in ended) == [
        min(n + 1, 7) for n in range(number)
    ]
    assert sum("Made a new home" in err for _, err, _ in ended) == 1
    verified = doorward("audit", "verify")
    assert (verified.code, verified.json["records"]) == (0, number)


def test_a_home_that_stays_locked_names_the_holder(doorward: Doorward) -> None:
    home = Home(doorward.home)
    home.make()
    with Lock(home) as lock:
        assert lock.take()
        ended = doorward("run", "data/list", "--collection=rooms")
    assert ended.code == 3
    assert f"refused (overloaded) This home folder is in use by process {os.getpid()}." in ended.err


def test_a_killed_command_leaves_the_lock_free(doorward: Doorward) -> None:
    with doorward.started("run", "--wait", "file/write", "--path=a", "--content=a") as waiting:
        assert waiting.stderr is not None
        assert any("Waiting for a person" in line for line in iter(waiting.stderr.readline, ""))
        waiting.send_signal(signal.SIGKILL)
    assert doorward("run", "data/count", "--collection=rooms").code == 0
    assert doorward("audit", "verify").code == 0
