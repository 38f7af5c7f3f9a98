"""Every way a call can end has an answer on the line door (R3.5)."""

from __future__ import annotations

import json

import pytest

from doorward.core.errors import DoorwardError, Failed, Unusable, concrete_errors
from doorward.core.model import Outcome
from doorward.doors.line.results import MAX_SUMMARY, ResultStyle, encode_answer, summarize

STYLE = ResultStyle(100, summaries=False)
DONE = ("ok", "cached", "dry_run")


def told(outcome: Outcome, style: ResultStyle = STYLE) -> dict[str, object]:
    text = encode_answer("1", "tool", outcome, style)
    assert text.endswith(b"\n")
    assert text.count(b"\n") == 1
    return json.loads(text)


@pytest.mark.parametrize("code", DONE)
def test_what_was_done_is_a_response(code: str) -> None:
    outcome = Outcome(status="done", code=code, message="", call="c", command="a/b", result={"n": 1}, text="Result: 1")
    result = told(outcome)["result"]
    assert told(outcome)["type"] == "response"
    assert (result["output"], result["data"], result["execution_id"]) == ("Result: 1", {"n": 1}, "c")
    assert result.get("code", "ok") == code


@pytest.mark.parametrize("error", [one for one in concrete_errors(DoorwardError) if one is not Unusable])
def test_what_was_refused_or_failed_is_an_error_with_its_code(error: type[DoorwardError]) -> None:
    status = "failed" if issubclass(error, Failed) else "refused"
    outcome = Outcome(
        status=status, code=error.code, message="No.", call="c", command="a/b", retry=error.retry, retry_after=1.23456
    )
    said = told(outcome)
    assert said["type"] == "error"
    assert said["error"]["code"] == error.code
    assert (said["error"]["status"], said["error"]["retry"]) == (status, error.retry)
    assert said["error"]["retry_after"] == 1.235


def test_what_waits_for_a_person_is_an_error_with_a_ticket() -> None:
    outcome = Outcome(
        status="parked",
        code="approval_needed",
        message="It waits.",
        call="c",
        command="a/b",
        ticket="t",
        retry="later",
        result={"expiresAt": "2026-11-16T00:00:00.000Z"},
    )
    said = told(outcome)["error"]
    assert (said["code"], said["ticket"], said["expires_at"]) == ("approval_needed", "t", "2026-11-16T00:00:00.000Z")


def program(stdout: str, stderr: str = "", exit_code: int | None = 0) -> dict[str, object]:
    return {"exitCode": exit_code, "stdout": stdout, "stderr": stderr, "stdoutBytes": 0, "stderrBytes": 0}


def test_a_programs_output_is_what_it_printed_and_is_cut_where_it_is_too_long() -> None:
    def shown(result: dict[str, object], style: ResultStyle = STYLE) -> dict[str, object]:
        outcome = Outcome(status="done", code="ok", message="", call="c", command="shell/x", result=result)
        return told(outcome, style)["result"]

    assert shown(program("one\n\n"))["output"] == "one\n"
    assert shown(program("a", "careful\n"))["stderr"] == "careful"
    long = shown(program("x" * 300))["output"]
    assert long.startswith("x" * 100 + "\n[cut: 100 of 300 characters shown;")
    assert '{"execution":"c","stream":"stdout","offset":100}' in long
    short = shown(program("x" * 3_000, "y" * 3_000), ResultStyle(100, summaries=True))
    assert len(short["stdout_summary"]) <= MAX_SUMMARY
    assert len(short["stderr_summary"]) <= MAX_SUMMARY
    assert "stderr" not in short


def test_a_failed_program_shows_what_it_printed() -> None:
    result = program("half\n", "no\n", 3)
    outcome = Outcome(status="failed", code="command_failed", message="No.", call="c", command="shell/x", result=result)
    said = told(outcome)["error"]
    assert (said["output"], said["stderr"], said["exit_code"]) == ("half", "no", 3)


def test_a_result_that_is_too_large_comes_as_text_alone() -> None:
    outcome = Outcome(status="done", code="ok", message="", call="c", command="a/b", result="x" * 2_000_000, text="cut")
    result = told(outcome)["result"]
    assert (result["output"], result["data_bytes"]) == ("cut", 2_000_002)
    assert "data" not in result


@pytest.mark.parametrize("size", [0, 499, 500, 501, 1_000, 10_000, 1_000_000])
def test_a_summary_is_short_and_says_what_it_leaves_out(size: int) -> None:
    text = summarize("a" * size)
    assert len(text) <= MAX_SUMMARY
    assert ("left out" in text) == (size > MAX_SUMMARY)
