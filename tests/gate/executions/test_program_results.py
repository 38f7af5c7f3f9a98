"""How a program's end reads, and that what it wrote is in no record, event or log (R3.6)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from puppets import asked

from doorward.core.errors import CommandFailed, TimedOut
from doorward.gate import result_text


def program(stdout="", stderr="", code=0, **more):
    return {
        "argv": ["tool"],
        "exitCode": code,
        "stdout": stdout,
        "stderr": stderr,
        "stdoutBytes": len(stdout.encode()),
        "stderrBytes": len(stderr.encode()),
        "seconds": 0.1,
        "sandbox": "full",
        **more,
    }


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (program("hello\n"), "Result: hello"),
        (program(), "Result: no output"),
        (program("\n"), "Result: no output"),
        (program("a\n", "careful\n"), "Result: a\nstderr: careful"),
        (program("", "no match\n", 1), "Result: \nstderr: no match\nexit code: 1"),
        (program("ab", code=None), "Result: ab\nexit code: none, it was stopped"),
        (program("ab", stdoutBytes=5), "Result: ab\n[stdout: 2 of 5 bytes kept]"),
        ({"stdout": "x"}, 'Result: {\n  "stdout": "x"\n}'),
    ],
)
def test_a_program_s_output_is_shown_as_it_is(result, text):
    assert result_text.render_result(result) == text


def test_a_failure_shows_what_the_program_wrote_all_the_same():
    error = CommandFailed("tool failed.", result=program("part\n", "boom\n", 2))
    assert result_text.render_failure(error) == "Command failed: tool failed.\nstdout: part\nstderr: boom\nexit code: 2"


async def fails(driver, puppets, error):
    call = asked(driver, "puppet/change", "one")
    (await puppets.on_stage("one")).fail(error)
    return await call


async def test_the_outcome_of_a_failure_carries_its_result(theatre, puppets):
    async with theatre() as driver:
        outcome = await fails(driver, puppets, CommandFailed("tool failed.", result=program("part\n", "boom\n", 2)))
    assert (outcome.status, outcome.result["exitCode"], outcome.result["stderr"]) == ("failed", 2, "boom\n")
    assert outcome.text.endswith("exit code: 2")


@pytest.mark.parametrize("error", [CommandFailed, TimedOut])
@pytest.mark.parametrize("result", [program("", "the plan is to dig\n", 2), {"steps": ["the plan is to dig"]}])
async def test_what_a_failing_program_wrote_is_in_no_record_event_or_log(theatre, puppets, home, error, result):
    async with theatre() as driver:
        seen = []
        driver.house.services.events.subscribe(seen.append)
        outcome = await fails(driver, puppets, error("tool: the plan is to dig", result=result))
        record = (await driver.ledger())[-1]
    assert "the plan" in outcome.message
    assert "the plan" not in msgspec.json.encode([record, seen]).decode()
    assert "the plan" not in "".join(log.read_text() for log in (home.path / "logs").glob("*"))
    assert record["note"] != ""


async def test_a_long_failure_is_cut_and_the_whole_can_be_read(theatre, puppets):
    async with theatre() as driver:
        long = "".join(f"line {n}\n" for n in range(10_000))
        outcome = await fails(driver, puppets, CommandFailed("tool failed.", result=program(long, "", 1)))
        whole, offset = "", 0
        while offset is not None:
            page = await driver.ask("execution/output", params={"execution": outcome.call, "offset": offset})
            whole, offset = whole + page.result["text"], page.result["next"]
    assert outcome.truncated == len(whole) > 30_000
    assert f"30000 of {outcome.truncated} characters shown" in outcome.text
    assert whole == f"Command failed: tool failed.\nstdout: {long}exit code: 1"


async def test_a_program_that_only_reads_may_be_answered_from_the_cache_and_one_that_writes_never(theatre, puppets):
    async with theatre() as driver:
        answers = []
        for command, name in (
            ("puppet/look", "a"),
            ("puppet/look", "a"),
            ("puppet/change", "b"),
            ("puppet/change", "b"),
        ):
            puppets.by_name.clear()
            call = asked(driver, command, name, cache=True)
            if command == "puppet/change" or not answers:
                (await puppets.on_stage(name)).end(program(f"{len(answers)}\n"))
            answers.append(await call)
    assert [answer.cached for answer in answers] == [False, True, False, False]
    assert answers[1].text == answers[0].text == "Result: 0"


async def test_an_answer_from_the_cache_is_only_for_the_same_working_folder(theatre, puppets, tmp_path, monkeypatch):
    async with theatre() as driver:
        call = asked(driver, "puppet/look", "a", cache=True)
        (await puppets.on_stage("a")).end(program("here\n"))
        first = await call
        puppets.by_name.clear()
        monkeypatch.setattr(driver.house.gate._resolver, "_place_of", lambda *_: (str(tmp_path), ""))
        call = asked(driver, "puppet/look", "a", cache=True)
        (await puppets.on_stage("a")).end(program("there\n"))
        second = await call
    assert (first.text, second.text, second.cached) == ("Result: here", "Result: there", False)


async def test_a_model_reads_what_a_program_changed(driver: Any) -> None:
    made = await driver.ask("bash", by="", room="", params={"command": "echo a > a.txt; mkdir b; echo done"})
    assert made.text == "Result: done\nchanges: created a.txt, b"
    many = await driver.ask("bash", by="", room="", params={"command": "rm a.txt; touch $(seq 60)"})
    assert "deleted a.txt" in many.text
    assert many.text.endswith("; and 10 more")
