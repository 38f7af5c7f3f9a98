"""`doorward run` of what takes a while: what a person sees and what Ctrl-C does, with a server and without."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest

from doorward_process import Doorward
from talking import Stage, Terminal, recorded, stage, with_talker
from waiting import PATIENCE

CTRL_C = "\x03"


@pytest.fixture(scope="module", params=["with a server", "without"])
def doorward(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doorward]:
    made = with_talker(tmp_path_factory.mktemp("live"))
    if request.param == "without":
        yield made
    else:
        with made.serving():
            yield made


@pytest.fixture
def on_stage() -> Iterator[Stage]:
    with stage() as one:
        yield one


def run(doorward: Doorward, on_stage: Stage, *flags: str) -> Terminal:
    return on_stage.terminal(doorward, "run", "--room=lab", *flags, "talk/live", f"--port={on_stage.port}")


def newest(doorward: Doorward) -> str:
    """The id of the last `talk/live`."""
    items = doorward("executions", "list").json["result"]["items"]
    return str(next(item["execution"] for item in items if item["command"] == "talk/live"))


def test_output_shows_as_it_comes_and_only_once(doorward: Doorward, on_stage: Stage) -> None:
    terminal = run(doorward, on_stage)
    talker = on_stage.talker()
    talker.tell("stdout", "hello\n")
    terminal.until("hello")
    talker.tell("stderr", "careful\n")
    terminal.until("careful")
    talker.tell("stdout", "no line end")
    terminal.until("no line end")
    talker.tell("end", 0)
    assert terminal.end() == 0
    lines = terminal.shown.splitlines()
    assert lines[:3] == ["hello", "careful", "no line end"]
    assert lines[3].startswith("exit code 0, ")
    assert newest(doorward) in lines[3]
    assert len(lines) == 4


def test_a_failure_says_so_below_what_was_written(doorward: Doorward, on_stage: Stage) -> None:
    terminal = run(doorward, on_stage)
    talker = on_stage.talker()
    talker.tell("stderr", "boom\n")
    talker.tell("end", 3)
    assert terminal.end() == 1
    lines = terminal.shown.splitlines()
    assert lines[:2] == ["boom", "failed (command_failed) talk ended with exit code 3."]
    assert lines[2].startswith("exit code 3, ")


def test_what_a_program_writes_cannot_move_the_cursor(doorward: Doorward, on_stage: Stage) -> None:
    terminal = run(doorward, on_stage)
    talker = on_stage.talker()
    talker.tell("stdout", "a\tb\x1b[2J\x1b]0;title\x07c\u202ed\x9b1m\rover\r\n")
    talker.tell("end", 0)
    assert terminal.end() == 0
    first = terminal.shown.splitlines()[0].expandtabs()
    assert first == r"a       b\u001b[2J\u001b]0;title\u0007c\u202ed\u009b1m\rover"


def test_ctrl_c_cancels_the_execution_and_says_so(doorward: Doorward, on_stage: Stage) -> None:
    terminal = run(doorward, on_stage)
    talker = on_stage.talker()
    talker.tell("stdout", "working\n")
    terminal.until("working")
    terminal.type(CTRL_C)
    assert talker.ended()
    assert terminal.end() == 130
    assert "Cancelling. Ctrl-C again exits at once." in terminal.shown
    assert "failed (cancelled) talk/live was cancelled by owner." in terminal.shown
    assert "Traceback" not in terminal.shown
    shown = recorded(doorward, newest(doorward))
    assert (shown["state"], shown["code"]) == ("cancelled", "cancelled")


def test_a_second_ctrl_c_leaves_at_once(doorward: Doorward, on_stage: Stage) -> None:
    terminal = run(doorward, on_stage)
    talker = on_stage.talker()
    talker.tell("deaf")
    terminal.type(CTRL_C)
    terminal.until("Ctrl-C again exits at once.")
    terminal.type(CTRL_C)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown
    talker.close()
    state = recorded(doorward, newest(doorward))["state"]
    assert state in ("failed", "cancelled"), "its record has an end all the same"


def test_ctrl_c_in_a_pipe_ends_with_the_outcome_as_json(doorward: Doorward, on_stage: Stage) -> None:
    process = doorward.started("run", "--room=lab", "talk/live", f"--port={on_stage.port}")
    talker = on_stage.talker()
    process.send_signal(signal.SIGINT)
    assert talker.ended()
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert json.loads(out)["code"] == "cancelled"
    assert err == "failed (cancelled) talk/live was cancelled by owner.\n"


def test_in_a_pipe_nothing_comes_before_the_outcome_which_is_json(doorward: Doorward, on_stage: Stage) -> None:
    process = doorward.started("run", "--room=lab", "talk/live", f"--port={on_stage.port}")
    talker = on_stage.talker()
    talker.tell("stdout", "hello\n")
    talker.tell("stderr", "careful\n")
    talker.tell("progress", 0.5)
    talker.tell("end", 0)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["result"]["stdout"] == "hello\n"


def test_a_line_of_progress_shows_in_silence_and_is_gone_at_the_end(doorward: Doorward, on_stage: Stage) -> None:
    terminal = run(doorward, on_stage)
    talker = on_stage.talker()
    talker.tell("progress", 0.42, "half\x1b[2J way")
    terminal.until(" s  42%  half\\u001b[2J way")
    talker.tell("stdout", "ready\n")
    talker.tell("end", 0)
    assert terminal.end() == 0
    assert terminal.shown.splitlines()[0] == "ready"
    assert "42%" not in terminal.shown


def test_ctrl_c_with_a_token_works_too(doorward: Doorward, on_stage: Stage) -> None:
    made = doorward("token", "create", "robbie", "--json").json
    token = made["result"]["token"]
    terminal = run(doorward, on_stage, f"--token={token}")
    talker = on_stage.talker()
    terminal.type(CTRL_C)
    assert talker.ended()
    assert terminal.end() == 130
    assert recorded(doorward, newest(doorward))["state"] == "cancelled"
