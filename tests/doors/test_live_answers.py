"""The private socket tells what goes on line by line, and a client that hangs up cancels what it asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from doorward_process import Doorward
from talking import Stage, recorded, stage, with_talker


@pytest.fixture(scope="module")
def doorward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doorward]:
    made = with_talker(tmp_path_factory.mktemp("live"))
    with made.serving():
        yield made


@pytest.fixture
def on_stage() -> Iterator[Stage]:
    with stage() as one:
        yield one


def test_what_goes_on_comes_as_lines_of_json_and_the_outcome_last(doorward: Doorward, on_stage: Stage) -> None:
    answer = on_stage.live(doorward, stream=True)
    talker = on_stage.talker()
    head = answer.head()
    started = json.loads(answer.chunk())
    talker.tell("stdout", "hello\n")
    first = json.loads(answer.chunk())
    talker.tell("stderr", "careful\n")
    talker.tell("progress", 0.5, "half way")
    talker.tell("end", 0)
    rest = answer.lines()
    assert head.startswith("HTTP/1.1 200")
    assert "application/x-ndjson" in head
    assert started == {
        "type": "started",
        "execution": rest[-1]["outcome"]["call"],
        "command": "talk/live",
        "queued": False,
    }
    assert first == {"type": "output", "stream": "stdout", "text": "hello\n"}
    assert rest[:-1] == [
        {"type": "output", "stream": "stderr", "text": "careful\n"},
        {"type": "progress", "fraction": 0.5, "message": "half way"},
    ]
    assert rest[-1]["type"] == "outcome"
    assert rest[-1]["outcome"]["result"]["stdout"] == "hello\n"


def test_a_refusal_is_an_outcome_too(doorward: Doorward, on_stage: Stage) -> None:
    answer = on_stage.post(doorward, command="talk/lvie", params={}, room="lab", speakAs="bot", stream=True)
    answer.head()
    (line,) = answer.lines()
    assert (line["type"], line["outcome"]["code"]) == ("outcome", "unknown_command")


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_hangs_up_cancels_its_execution_and_the_record_says_so(
    doorward: Doorward, on_stage: Stage, stream: bool
) -> None:
    answer = on_stage.live(doorward, stream=stream)
    talker = on_stage.talker()
    (running,) = doorward("executions", "list", "--live").json["result"]["items"]
    answer.hang_up()
    assert talker.ended()
    shown = recorded(doorward, running["execution"])
    assert (running["command"], running["state"]) == ("talk/live", "running")
    assert (shown["state"], shown["code"]) == ("cancelled", "cancelled")


@pytest.mark.parametrize("stream", [True, False])
def test_cancelling_from_another_connection_is_told_on_the_first(
    doorward: Doorward, on_stage: Stage, stream: bool
) -> None:
    answer = on_stage.live(doorward, stream=stream)
    talker = on_stage.talker()
    (running,) = doorward("executions", "list", "--live").json["result"]["items"]
    stopped = doorward("executions", "cancel", running["execution"])
    assert talker.ended()
    head = answer.head()
    assert stopped.json["result"]["state"] == "cancelled"
    if stream:
        assert answer.lines()[-1]["outcome"]["message"] == "talk/live was cancelled by owner."
    else:
        assert head.startswith("HTTP/1.1 499")


def test_a_client_that_reads_nothing_loses_nothing_and_stops_nobody(doorward: Doorward, on_stage: Stage) -> None:
    answer = on_stage.live(doorward, stream=True)
    talker = on_stage.talker()
    for number in range(30):
        talker.tell("stdout", f"{number:04} " + "x" * 30_000 + "\n")
    other = doorward("run", "--room=", "--as=me", "room/list")
    talker.tell("end", 0)
    answer.head()
    lines = answer.lines()
    text = "".join(line["text"] for line in lines if line["type"] == "output")
    assert other.code == 0
    assert [line[:4] for line in text.splitlines()] == [f"{number:04}" for number in range(30)]
    assert lines[-1]["type"] == "outcome"


def test_a_server_that_is_stopped_leaves_the_end_of_what_ran(tmp_path: Path, on_stage: Stage) -> None:
    doorward = with_talker(tmp_path)
    with doorward.up() as server:
        answer = on_stage.live(doorward, stream=True)
        talker = on_stage.talker()
        (running,) = doorward("executions", "list", "--live").json["result"]["items"]
        server.process.terminate()
        assert talker.ended()
        assert server.process.wait(60) == 0
        answer.hang_up()
    shown = recorded(doorward, running["execution"])
    assert (shown["state"], shown["code"]) == ("cancelled", "cancelled")
