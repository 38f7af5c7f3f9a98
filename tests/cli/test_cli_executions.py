"""`doorward executions`: what runs, what it wrote, and its end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from doorward_process import Doorward
from talking import Stage, stage, with_talker
from waiting import PATIENCE


@pytest.fixture(scope="module")
def doorward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doorward]:
    made = with_talker(tmp_path_factory.mktemp("executions"))
    with made.serving():
        yield made


@pytest.fixture
def on_stage() -> Iterator[Stage]:
    with stage() as one:
        yield one


def running(doorward: Doorward) -> str:
    (one,) = doorward("executions", "list", "--live").json["result"]["items"]
    return str(one["execution"])


def test_init_beside_a_running_server_says_that_the_home_exists(doorward: Doorward) -> None:
    ended = doorward("init")
    assert (ended.code, "already exists; nothing was changed" in ended.out) == (0, True)


def test_nothing_runs_and_that_is_said(doorward: Doorward) -> None:
    assert doorward.on_terminal("doorward executions list --live").out == "Nothing found.\n"


def test_list_shows_what_runs_first_and_show_says_how_far_it_is(doorward: Doorward, on_stage: Stage) -> None:
    on_stage.live(doorward)
    talker = on_stage.talker()
    talker.tell("progress", 0.25, "a quarter")
    talker.tell("stdout", "abc")
    id = running(doorward)
    listed = doorward("executions", "list", "--limit=1").json["result"]["items"]
    shown = doorward("executions", "show", id).json["result"]
    talker.tell("end", 0)
    assert [item["state"] for item in listed] == ["running", "completed"]
    assert listed[0]["summary"] == shown["summary"] != ""
    assert (shown["state"], shown["fraction"], shown["message"], shown["stdoutBytes"]) == (
        "running",
        0.25,
        "a quarter",
        3,
    )


def test_cancel_stops_it(doorward: Doorward, on_stage: Stage) -> None:
    on_stage.live(doorward)
    talker = on_stage.talker()
    id = running(doorward)
    ended = doorward("executions", "cancel", id)
    assert talker.ended()
    assert ended.json["result"]["state"] == "cancelled"
    again = doorward("executions", "cancel", id)
    assert (again.code, again.json["code"]) == (1, "not_found")


def test_tail_prints_what_comes_until_the_end(doorward: Doorward, on_stage: Stage) -> None:
    on_stage.live(doorward)
    talker = on_stage.talker()
    talker.tell("stdout", "before\n")
    with doorward.started("executions", "tail", running(doorward)) as tail:
        assert tail.stdout is not None
        assert tail.stderr is not None
        assert tail.stdout.readline() == "before\n"
        talker.tell("stderr", "after\n")
        assert tail.stdout.readline() == "after\n"
        talker.tell("end", 0)
        assert tail.stdout.read() == ""
        assert tail.stderr.read().startswith("completed, ")
        assert tail.wait(PATIENCE) == 0


def test_tail_of_one_stream_and_of_what_ended(doorward: Doorward, on_stage: Stage) -> None:
    on_stage.live(doorward)
    talker = on_stage.talker()
    id = running(doorward)
    talker.tell("stdout", "out\n")
    talker.tell("stderr", "err\n")
    talker.tell("end", 2)
    assert talker.ended()
    both, errors = doorward("executions", "tail", id), doorward("executions", "tail", id, "--stream=stderr")
    assert (both.code, both.out) == (0, "out\nerr\n")
    assert errors.out == "err\n"
    assert errors.err.startswith("failed, ")


def test_tail_of_a_long_result_is_whole(doorward: Doorward, on_stage: Stage) -> None:
    on_stage.live(doorward)
    talker = on_stage.talker()
    id = running(doorward)
    text = "".join(f"line {number}\n" for number in range(9_000))
    talker.tell("stdout", text)
    talker.tell("end", 0)
    assert talker.ended()
    assert doorward("executions", "tail", id, "--stream=stdout").out == text


def test_tail_of_an_unknown_one_is_an_error(doorward: Doorward) -> None:
    ended = doorward("executions", "tail", "0000000000000000")
    assert (ended.code, ended.out) == (1, "")
    assert "No stored result" in ended.err


def test_what_waits_for_a_place_says_so_and_ctrl_c_withdraws_it(doorward: Doorward, on_stage: Stage) -> None:
    others = [on_stage.live(doorward, note=str(number)) for number in range(5)]
    talkers = [on_stage.talker() for _ in others]
    terminal = on_stage.terminal(doorward, "run", "--room=lab", "--as=bot", "talk/live", f"--port={on_stage.port}")
    terminal.until("queued")
    terminal.type("\x03")
    assert terminal.end() == 130
    assert "refused (withdrawn) talk/live was cancelled by owner before it began. Nothing ran." in terminal.shown
    for talker in talkers:
        talker.tell("end", 0)


def test_calls_of_one_command_are_told_apart_by_their_parameters(doorward: Doorward) -> None:
    scripts = ["echo one", "echo two", "PASSWORD=hunter2-hunter2 true"]
    for script in scripts:
        doorward("run", "--as=me", "--room=", "bash", f"--command={script}")
    listed = doorward("executions", "list", "--limit=3").json["result"]["items"]
    assert [one["command"] for one in listed] == ["bash"] * 3
    assert [one["summary"] for one in listed[1:]] == ["echo two", "echo one"]
    assert "hunter2" not in str(listed)
    assert doorward("executions", "show", listed[1]["execution"]).json["result"]["summary"] == "echo two"
    seen = doorward.on_terminal("doorward executions list --limit=3").out
    assert [words in seen for words in ("bash echo one", "bash echo two", "hunter2")] == [True, True, False]
    assert f"{listed[1]['execution']}  completed" in seen
    assert "owner" in seen
