"""`doorward ai`: plain words at a terminal and in a pipe. The tour of the README runs it without a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from doorward_process import Doorward, Server


@pytest.fixture(scope="module")
def server(shared: Doorward) -> Iterator[Server]:
    with shared.serving() as server:
        yield server


def file(shared: Doorward, name: str) -> None:
    (shared.home / "workspace" / name).write_text("something\n")


def is_there(shared: Doorward, name: str) -> bool:
    return (shared.home / "workspace" / name).exists()


def test_in_a_pipe_the_answer_alone_is_on_the_output(server: Server, shared: Doorward) -> None:
    ended = shared("ai", "how", "many", "rooms", "do we have")
    assert ended.code == 0
    assert "1 room" in ended.out
    assert ended.out.count("\n") == 1
    said = ended.err.splitlines()
    assert said[0] == "Thinking with house."
    assert said[1].startswith("  data/")
    assert said[1].endswith("  done")


def test_json_is_the_whole_answer_with_every_call(server: Server, shared: Doorward) -> None:
    ended = shared("ai", "--json", "how many rooms do we have")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json["success"] is True
    assert [call["name"] for call in ended.json["toolCalls"]] == ["run_command"]
    assert ended.json["model"] == "house"


def test_a_request_comes_through_a_pipe_too_and_a_session_goes_on(server: Server, shared: Doorward) -> None:
    first = shared("ai", "--json", stdin="how many rooms do we have\n")
    assert first.json["success"] is True
    again = shared("ai", "--json", "--session=last", "-", stdin="how many users are there")
    assert again.json["sessionId"] == first.json["sessionId"]
    new = shared("ai", "--json", "--new", "how many users are there")
    assert new.json["sessionId"] != first.json["sessionId"]


@pytest.mark.parametrize(
    ("args", "stdin", "sentence"),
    [
        ([], "", "No request."),
        (["  "], "\n", "No request."),
        (["-"], "x" * 20_001, "at most 20,000 characters"),
        (["x" * 20_001], None, "at most 20,000 characters"),
        (["--new", "--session=abc", "hello"], None, "give only one of them"),
        (["--ticket=abc"], None, "add --session"),
    ],
)
def test_a_request_that_is_none_is_a_wrong_command_line(
    args: list[str], stdin: str | None, sentence: str, server: Server, shared: Doorward
) -> None:
    ended = shared("ai", *args, stdin=stdin)
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err


def test_what_is_not_done_is_told_and_no_success(server: Server, shared: Doorward) -> None:
    lost = shared("ai", "colourless green ideas sleep furiously")
    assert lost.code == 1
    assert "failed" in lost.err
    unknown = shared("ai", "--session=nobody_has_this_one", "how many rooms do we have")
    assert (unknown.code, unknown.out) == (1, "")
    assert "no session" in unknown.err
    assert "Traceback" not in unknown.err + lost.err


def test_what_waits_in_a_pipe_says_how_to_go_on_and_goes_on_once_approved(server: Server, shared: Doorward) -> None:
    file(shared, "old.txt")
    ended = shared("ai", "--json", "delete old.txt")
    assert ended.code == 4
    answer = ended.json
    ticket = answer["toolCalls"][-1]["ticket"]
    assert f"--session {answer['sessionId']} --ticket {ticket}" in answer["response"]
    assert shared("ai", f"--session={answer['sessionId']}", f"--ticket={ticket}").code == 4
    assert is_there(shared, "old.txt")
    assert shared("approvals", "approve", ticket).code == 0
    went_on = shared("ai", f"--session={answer['sessionId']}", f"--ticket={ticket}")
    assert went_on.code == 0, went_on
    assert not is_there(shared, "old.txt")


@pytest.mark.parametrize(("answer", "code", "stays"), [("y", 0, False), ("n", 1, True), ("maybe\nn", 1, True)])
def test_at_a_terminal_a_person_decides_about_exactly_what_is_shown(
    answer: str, code: int, stays: bool, server: Server, shared: Doorward
) -> None:
    file(shared, "gone.txt")
    seen = shared.on_terminal("doorward ai 'delete gone.txt'", answer)
    assert "It would run exactly:\n  file/delete" in seen.out
    assert "  -something\n" in seen.out
    assert "Approve, as yourself? [y/N]: " in seen.out
    assert (seen.code, is_there(shared, "gone.txt")) == (code, stays), seen.out


@pytest.mark.parametrize("option", ["--no-prompt", "--yes-to-nothing"])
def test_without_prompts_an_approval_is_left_pending(option: str, server: Server, shared: Doorward) -> None:
    file(shared, "kept.txt")
    seen = shared.on_terminal(f"doorward ai {option} 'delete kept.txt'")
    assert seen.code == 4
    assert "[y/N]" not in seen.out
    assert "doorward approvals approve" in seen.out
