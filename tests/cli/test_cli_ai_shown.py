"""What a person sees while the keeper works, told notice by notice."""

from __future__ import annotations

from typing import Any

import click
import pytest

from doorward.cli import local_client
from doorward.cli.ai import _ask_for_decision
from doorward.cli.ai_view import KeeperView, find_pending_ticket, format_approval, format_call
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import TerminalRequest
from doorward.gate.executions.notices import OutputNotice, StartedNotice, StepNotice

COUNT = {"name": "run_command", "input": {"command": "data/count", "params": {"collection": "rooms"}}}


def at_a_terminal() -> KeeperView:
    thinking = KeeperView(as_json=False)
    thinking.shows_output = thinking.draws_progress = True
    return thinking


def answer(response: str = "There is 1 room.", **more: Any) -> dict[str, Any]:
    return {"success": True, "response": response, "toolCalls": [], "ended": "answered", "notes": [], **more}


def told(thinking: KeeperView, *steps: tuple[str, dict[str, Any]]) -> KeeperView:
    thinking.handle_notice(StartedNotice("e1", "agent/ask"))
    for kind, data in steps:
        thinking.handle_notice(StepNotice(kind, data))
    return thinking


WHOLE = (
    ("session", {"sessionId": "s1"}),
    ("thinking", {"turn": 1, "model": "house"}),
    ("tool_started", COUNT),
    ("tool_finished", {**COUNT, "status": "done", "output": "1"}),
    ("thinking", {"turn": 2, "model": "house"}),
    ("text", {"delta": "There is "}),
    ("text", {"delta": "1 room."}),
)


def test_in_a_pipe_the_answer_stands_alone_and_the_rest_is_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    thinking = told(KeeperView(as_json=False), *WHOLE)
    thinking.handle_notice(OutputNotice("stdout", "what a program inside wrote"))
    thinking.handle_notice(StepNotice("note", {"text": "The model house stood in."}))
    thinking.finish(answer(notes=["The model house stood in.", "It was late."]))
    out, err = capsys.readouterr()
    assert out == "There is 1 room.\n"
    assert click.unstyle(err).splitlines() == [
        "Thinking with house.",
        "  data/count --collection=rooms  done",
        "The model house stood in.",
        "It was late.",
    ]
    assert thinking.session == "s1"


def test_at_a_terminal_the_answer_is_written_as_it_comes_and_once(capsys: pytest.CaptureFixture[str]) -> None:
    thinking = told(at_a_terminal(), *WHOLE[:-1])
    assert capsys.readouterr().out == "There is "
    told(thinking, *WHOLE[-1:])
    thinking.finish(answer())
    assert capsys.readouterr().out == "1 room.\n"


def test_something_is_drawn_before_anything_is_known_and_erased_then(capsys: pytest.CaptureFixture[str]) -> None:
    thinking = at_a_terminal()
    thinking.begin()
    assert capsys.readouterr().err == "\rasking the keeper"
    told(thinking, ("thinking", {"turn": 1, "model": "house"}))
    assert click.unstyle(capsys.readouterr().err) == "\rThinking with house.\n"


def test_that_a_model_is_read_into_memory_is_drawn_until_it_thinks(capsys: pytest.CaptureFixture[str]) -> None:
    thinking = at_a_terminal()
    told(thinking, ("thinking", {"turn": 1, "model": "small", "state": "loading"}))
    assert click.unstyle(capsys.readouterr().err) == "\rloading small into memory"
    told(thinking, ("thinking", {"turn": 1, "model": "small"}))
    assert click.unstyle(capsys.readouterr().err) == "\rThinking with small.\n"


def test_whoever_leaves_the_question_open_is_told_that_it_waits_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def left(*_: object, **__: object) -> bool:
        raise click.Abort

    shown = {"id": "t1", "command": "file/delete", "shown": "file/delete {}", "cannotDecide": ""}
    done = Outcome(status="done", code="ok", message="", call="", command="approval/show", result=shown)
    monkeypatch.setattr(local_client, "run", lambda _: done)
    monkeypatch.setattr("click.confirm", left)
    with pytest.raises(click.Abort):
        _ask_for_decision(TerminalRequest(command="agent/ask"), done, "t1")
    assert "To decide later: doorward approvals approve t1" in capsys.readouterr().err


def test_an_answer_that_differs_from_what_was_written_is_shown_too(capsys: pytest.CaptureFixture[str]) -> None:
    told(at_a_terminal(), *WHOLE).finish(answer("It was cut."))
    assert capsys.readouterr().out == "There is 1 room.\nIt was cut.\n"


def test_with_json_nothing_is_told_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    told(KeeperView(as_json=True), *WHOLE)
    assert capsys.readouterr() == ("", "")


def test_what_failed_says_why_and_hides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    refused = {"name": "read_file", "input": {"path": "a\x1b[2J"}, "status": "refused", "output": "no\nway\x07"}
    told(KeeperView(as_json=False), ("tool_finished", refused), ("note", {"text": "over\x1b[1A"})).finish(
        answer("", success=False, error="It may not\x9b.")
    )
    lines = click.unstyle(capsys.readouterr().err).splitlines()
    assert lines == [
        "  read_file a\\u001b[2J  refused",
        "    no\\nway\\u0007",
        "over\\u001b[1A",
        "failed It may not\\u009b.",
    ]


def test_a_call_whose_end_is_never_told_is_shown_as_begun(capsys: pytest.CaptureFixture[str]) -> None:
    told(KeeperView(as_json=False), ("tool_started", COUNT)).finish(answer())
    assert "data/count --collection=rooms  started" in click.unstyle(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (COUNT, "data/count --collection=rooms"),
        ({"name": "run_command", "input": {"command": "ls -l | wc -l"}}, "ls -l | wc -l"),
        ({"name": "run_command", "input": {"command": "x", "params": {"n": 3, "a": ["é"]}}}, 'x --n=3 --a=["é"]'),
        ({"name": "write_file", "input": {"path": "a.txt", "content": "12345"}}, "write_file a.txt (5 characters)"),
        ({"name": "read_file", "input": {"path": "a.txt"}}, "read_file a.txt"),
        ({"name": "run_command", "input": None}, "run_command"),
        ({}, ""),
    ],
)
def test_a_call_is_shown_as_it_would_be_typed(call: dict[str, Any], line: str) -> None:
    assert format_call(call) == line


def test_what_waits_is_the_last_call_with_a_ticket() -> None:
    calls = [{"name": "run_command"}, {"name": "run_command", "ticket": "t1"}]
    assert find_pending_ticket(answer(ended="waiting", toolCalls=calls)) == "t1"
    assert find_pending_ticket(answer(ended="answered", toolCalls=calls)) == ""
    assert find_pending_ticket(answer(ended="waiting")) == ""
    assert find_pending_ticket(answer(ended="waiting"), given="t0") == "t0"
    assert find_pending_ticket(answer(ended="not_approved"), given="t0") == ""


def test_an_approval_shows_exactly_what_would_run_and_change() -> None:
    detail = {"command": "file/write", "shown": "file/write {}\n", "difference": "+a\n-b\x1b\n", "why": "Because."}
    assert [click.unstyle(line) for line in format_approval(detail)] == [
        "file/write is waiting for your approval. It would run exactly:",
        "  file/write {}",
        "It would change:",
        "  +a",
        "  -b\\u001b",
        "Because.",
    ]
    other = format_approval({"id": "t1", "command": "x", "shown": "x", "cannotDecide": "You may not."})
    assert other[0] == "x is waiting for another person's approval. It would run exactly:"
    assert other[2:] == ["You may not.", "Someone who may decide runs: doorward approvals approve t1"]
    assert format_approval({"command": "mcp/a/b", "shown": "x", "difference": "says"})[2] == "About this tool:"
