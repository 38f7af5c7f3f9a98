"""How servers look on a terminal, without one."""

from __future__ import annotations

from typing import Any

import pytest

from doorward.cli import servers_view

FACTS = {"id": "web", "state": "waiting", "transport": "http", "tools": 0, "calls": 0, "failures": 0}
TESTED = {"server": "web", "seconds": 0.1, "itself": "web 1", "protocolVersion": "2025-11-25", "tools": []}


@pytest.mark.parametrize(
    ("problem", "shown"),
    [
        ("Server web: http://127.0.0.1:1 answered 500.", "web: http://127.0.0.1:1 answered 500."),
        ("The server web ended with exit code 7.", "web: It ended with exit code 7."),
        ("Server website: that is another.", "web: Server website: that is another."),
    ],
)
def test_a_problem_names_its_server_once(problem: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    servers_view.show_servers({"items": [{**FACTS, "problem": problem}], "file": "f"})
    assert capsys.readouterr().err == f"{shown}\n"


@pytest.mark.parametrize(("state", "told"), [("stopped", True), ("ready", False), ("disabled", False)])
def test_whoever_sees_a_stopped_server_is_told_what_starts_it(
    state: str, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    servers_view.show_servers({"items": [{**FACTS, "state": state, "problem": ""}], "file": "f"})
    assert ("starts with `doorward up`" in capsys.readouterr().err) is told


def shown_of(capsys: pytest.CaptureFixture[str], **more: Any) -> str:
    servers_view.show_test_result({**TESTED, "ok": False, "problem": "", **more})
    return " ".join(capsys.readouterr().out.split())


def test_a_test_names_as_many_tools_as_one_reads(capsys: pytest.CaptureFixture[str]) -> None:
    shown = shown_of(capsys, ok=True, tools=[f"t{number}" for number in range(2_000)])
    assert "t39, and 1960 more: doorward servers tools web" in shown
    assert "t40" not in shown
    assert "more:" not in shown_of(capsys, ok=True, tools=[f"t{number}" for number in range(40)])


def test_a_failed_test_says_its_problem_once_and_then_what_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    problem, advice = (
        "The server web ended with exit code 2.",
        "Its arguments name /srv/x, which is not visible inside its sandbox.",
    )
    shown = shown_of(capsys, problem=problem, advice=[advice], log=[f"12:00 ended: {problem}"])
    assert shown == f"web fails after 0.1 s {problem} {advice}"
    assert shown_of(capsys, problem=problem, log=["12:00 stderr: no", f"12:00 ended: {problem}"]).endswith(
        "Last log output: 12:00 stderr: no"
    )
