"""How lines of the session shell run: stage by stage, through the gate, within limits."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typed_lines import Typing

from doorward.app import open_house
from doorward.config.home import Home
from doorward.config.settings import LimitSettings, Settings
from doorward.core.model import Credential, Outcome, Request
from doorward.gate.executions.notices import OutputNotice
from doorward.shell.expansion import MAX_CHARACTERS
from doorward.shell.globs import MAX_FOLDERS
from doorward.shell.results import result_from_outcome


@pytest.fixture(autouse=True)
def fresh(typing: Typing) -> None:
    typing.fresh()


async def _rows(typing: Typing, call: str) -> list[tuple[str, str, str]]:
    """What the ledger has since a call: command, phase and status."""
    rows = await typing.house.services.store.read(
        "SELECT command, phase, status FROM ledger"
        " WHERE seq >= (SELECT min(seq) FROM ledger WHERE call = ?) ORDER BY seq",
        (call,),
    )
    return [(row["command"], row["phase"], row["status"]) for row in rows]


async def test_every_stage_and_every_redirect_is_a_call_with_a_record(typing: Typing) -> None:
    outcome = await typing.script(script="cat < numbers.txt | sort -n > sorted.txt; nosuch")
    steps = outcome.result["steps"]
    assert [(step["command"], step["status"], step["exitCode"]) for step in steps] == [
        ("sh/cat", "done", 0),
        ("shell/sort", "done", 0),
        ("vfs/write", "done", 0),
    ]
    rows = await _rows(typing, outcome.call)
    ended = [(command, status) for command, phase, status in rows if phase != "start"]
    assert ended[0] == ("file/read", "done")
    assert {("vfs/read", "done"), ("sh/cat", "done"), ("shell/sort", "done"), ("vfs/write", "done")} <= set(ended)
    assert ended[-1] == ("shell/script", "failed")
    for step in steps:
        assert step["call"]


async def test_what_needs_approval_waits_and_nothing_behind_it_runs(typing: Typing) -> None:
    outcome = await typing.script(
        by="helper", room="general", commands=["echo a", "rm numbers.txt; echo b && echo c", "echo d"], keepGoing=True
    )
    assert outcome.status == "failed"
    assert (typing.workspace / "numbers.txt").exists()
    result = outcome.result
    assert (result["stdout"], result["exitCode"], result["ran"], result["of"]) == ("a\n", 75, 2, 3)
    assert result["ticket"] in outcome.message
    assert result["ticket"] in result["stderr"]
    assert "the steps after it were not run" in outcome.message
    await typing.ask("approval/approve", id=result["ticket"])
    approval = (await typing.ask("approval/show", id=result["ticket"])).result
    credential = Credential(owner=True, speak_as="helper")
    gone = await typing.house.gate.handle(
        Request(command="", credential=credential, door="test", room="general", ticket=result["ticket"])
    )
    assert gone.status == "done", approval
    assert not (typing.workspace / "numbers.txt").exists()


async def test_a_stage_that_waits_or_is_refused_leaves_its_target_and_its_pipe_alone(typing: Typing) -> None:
    (typing.workspace / "kept.txt").write_text("kept\n")
    for line, code in (
        ("rm numbers.txt | sort > kept.txt", 75),
        ("rm numbers.txt > kept.txt", 75),
        ("echo $(rm numbers.txt) > kept.txt", 75),
        ("user/list | sort > kept.txt", 126),
        ("user/list > kept.txt", 126),
        ("echo $(user/list) > kept.txt", 126),
    ):
        _, _, ended = await typing.line(line, by="helper", room="general")
        assert (line, ended) == (line, code)
        assert (typing.workspace / "kept.txt").read_text() == "kept\n"


async def test_what_a_recipe_allows_is_found_where_another_word_of_the_same_name_is_not(typing: Typing) -> None:
    recipe = {
        "recipeId": "only-programs",
        "displayName": "Only programs",
        "description": "A script of two programs.",
        "strategy": {"aiCommands": {"enabled": True, "whitelist": ["shell/script", "shell/ls", "shell/cd"]}},
    }
    await typing.ask("recipe/put", id="only-programs", text=msgspec.json.encode(recipe).decode())
    await typing.ask("room/create", name="narrow", recipe="only-programs")
    await typing.ask("room/join", room="narrow")
    outcome = await typing.script(by="helper", room="narrow", commands=["cd src", "ls", "cat main.py"])
    result = outcome.result
    assert [step["command"] for step in result["steps"]] == ["shell/cd", "shell/ls", "sh/cat"]
    assert (result["stdout"], result["exitCode"], result["cwd"]) == ("deep\nmain.py\nutil.py\n", 126, "/workspace/src")


async def test_output_is_told_as_it_is_made_and_only_what_is_shown(typing: Typing) -> None:
    await typing.script(
        script="cat numbers.txt | sort -n; echo x > out.txt; wc -l < numbers.txt; cat none; echo $(seq 3)"
    )
    told = [(one.stream, one.text) for one in typing.told if isinstance(one, OutputNotice)]
    assert told == [
        ("stdout", "1\n2\n3\n10\n"),
        ("stdout", "4\n"),
        ("stderr", "cat: none: No such file or directory\n"),
        ("stdout", "1 2 3\n"),
    ]


async def test_a_program_is_heard_before_it_ends_and_stops_with_its_script(typing: Typing) -> None:
    heard = asyncio.Event()

    def watch(notice: Any) -> None:
        if isinstance(notice, OutputNotice):
            heard.set()

    request = Request(
        command="shell/script",
        credential=Credential(owner=True),
        door="test",
        params={"commands": [{"command": "bash", "params": {"command": "echo begun; sleep 60"}}, "touch never"]},
    )
    running = asyncio.ensure_future(typing.house.gate.handle(request, watch))
    await heard.wait()
    inner = next(one for one in typing.house.services.executions if one.call.command.name == "bash")
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert inner.state == "cancelled"
    assert not (typing.workspace / "never").exists()


async def test_a_stage_that_somebody_cancels_ends_with_130_and_its_pipe_with_it(typing: Typing) -> None:
    async def cancel() -> None:
        while True:
            for one in typing.house.services.executions:
                if one.call.command.name == "shell/sleep" and one.state == "running":
                    one.cancel("owner")
                    return
            await asyncio.sleep(0)

    stopping = asyncio.ensure_future(cancel())
    printed, complaints, code = await typing.line("sleep 60 | wc -l")
    await stopping
    assert (printed, code) == ("", 130)
    assert complaints.startswith("sleep: ")


@pytest.mark.parametrize(
    ("status", "code", "result", "exit_code", "printed", "complaints"),
    [
        ("done", "ok", None, 0, "", ""),
        ("done", "ok", "text", 0, "text\n", ""),
        ("done", "ok", {"a": 1}, 0, '{\n  "a": 1\n}\n', ""),
        ("done", "ok", {"stdout": "x", "stderr": "", "exitCode": 1}, 1, "x", ""),
        ("done", "ok", {"stdout": "", "stderr": "t", "exitCode": 75, "ticket": "T"}, 75, "", "t\n"),
        ("failed", "command_failed", {"stdout": "x", "stderr": "bad", "exitCode": 7}, 7, "x", "bad\n"),
        ("failed", "command_failed", {"stdout": "x", "stderr": "", "exitCode": None}, 1, "x", "p: why\n"),
        ("failed", "timed_out", {"stdout": "x", "stderr": "", "exitCode": None}, 124, "x", "p: why\n"),
        ("failed", "timed_out", None, 124, "", "p: why\n"),
        ("failed", "command_failed", {"ticket": "T"}, 75, "", "p: why how\n"),
        ("failed", "command_failed", None, 1, "", "p: why\n"),
        ("failed", "cancelled", None, 130, "", "p: why\n"),
        ("failed", "broken", None, 1, "", "p: why\n"),
        ("refused", "withdrawn", None, 130, "", "p: why\n"),
        ("refused", "bad_params", None, 2, "", "p: why\n"),
        ("refused", "unknown_command", None, 127, "", "p: why\n"),
        ("refused", "not_permitted", None, 126, "", "p: why\n"),
        ("refused", "too_fast", None, 126, "", "p: why\n"),
        ("refused", "not_found", None, 1, "", "p: why\n"),
        ("parked", "approval_needed", None, 75, "", "p: why The ticket is T. how\n"),
    ],
)
def test_every_end_of_a_call_is_an_exit_code(
    status: Any, code: str, result: Any, exit_code: int, printed: str, complaints: str
) -> None:
    outcome = Outcome(
        status=status,
        code=code,
        message="" if status == "done" else "why",
        hint="how",
        call="c",
        command="shell/p",
        result=result,
        ticket="T" if status == "parked" else "",
    )
    made = result_from_outcome("p", outcome)
    assert (made.exit_code, made.stdout, made.stderr) == (exit_code, printed, complaints)
    assert (made.ticket == "T") == (exit_code == 75)


@pytest.mark.parametrize("command", ["data/read", "mcp/other/run", "agent/ask"])
def test_what_looks_like_the_end_of_a_program_is_data_where_no_program_ran(command: str) -> None:
    result = {"stdout": "x", "stderr": "y", "exitCode": 126, "ticket": "T", "leaves": True}
    made = result_from_outcome(
        "p", Outcome(status="done", code="", message="", call="c", command=command, result=result)
    )
    assert (made.exit_code, made.ticket, made.leaves, made.ends_pipe) == (0, "", False, False)
    assert '"exitCode": 126' in made.stdout


async def test_that_something_waits_is_not_told_by_the_exit_code(typing: Typing) -> None:
    outcome = await typing.script(script="exit 75")
    assert (outcome.status, outcome.result["exitCode"], "ticket" in outcome.result) == ("done", 75, False)
    outcome = await typing.script(commands=["time exit 75", "echo and on"])
    assert (outcome.status, outcome.result["stdout"]) == ("failed", "")
    assert "approval" not in outcome.message
    printed, _, code = await typing.line("time exit 75 || echo and on")
    assert (printed, code) == ("and on\n", 0)


async def test_what_is_too_much_is_cut_and_said_to_be(typing: Typing) -> None:
    (typing.workspace / "big.txt").write_text("x" * 99 + "\n" + "y" * 900_000 + "\n")
    printed, complaints, _ = await typing.line("cat big.txt big.txt | wc -c")
    assert printed == "1000000\n"
    assert "truncated" in complaints
    printed, complaints, _ = await typing.line("cat big.txt; cat big.txt")
    assert len(printed) == 1_000_000
    assert "the output was truncated after 1000000 characters" in complaints
    _, complaints, code = await typing.line("wc -c < big.txt; echo $(cat big.txt) $(cat big.txt)")
    assert f"more than {MAX_CHARACTERS} characters" in complaints
    assert code == 1


async def test_a_pattern_that_would_look_everywhere_is_refused(typing: Typing) -> None:
    for number in range(MAX_FOLDERS + 1):
        (typing.workspace / f"many/{number}").mkdir(parents=True)
    _, complaints, code = await typing.line("echo many/*/x")
    assert (complaints, code) == (
        f"shell: the pattern has to list more than {MAX_FOLDERS} folders; use find instead\n",
        1,
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo " + "[" * 60_000, "a pattern has at most 500 characters"),
        ("echo " + "*a" * 30_000, "a pattern has at most 500 characters"),
        ("echo /**/*.md", "** works below one top-level folder, as in /workspace/**; use it there, or use find"),
        ("echo /home/**", "** works below one top-level folder"),
        ("echo " + "**/" * 20_000, "a pattern has at most 500 characters in each of at most 50 names"),
        ("echo" + " *" * 30_000, "a script has at most 200 file name patterns"),
        ("echo" + " $(echo *)" * 201, "a script has at most 200 file name patterns"),
    ],
    ids=lambda one: one[:12],
)
async def test_patterns_that_would_take_for_ever_are_refused(typing: Typing, line: str, said: str) -> None:
    _, complaints, _ = await typing.line(line)
    assert said in complaints


async def test_lines_in_a_list_are_known_before_any_of_them_runs(typing: Typing) -> None:
    bad: list[Any] = [
        "nosuch",
        "ls | nosuch",
        "true && nosuch",
        "echo 'never closed",
        "ls; (pwd)",
        "",
        " # x",
        "sleep 1 &",
    ]
    bad += [{"command": "ls", "args": []}, {"command": 5}, {"params": {}}, {"command": "nosuch"}]
    for step in bad:
        outcome = await typing.script(commands=["mkdir made", step])
        assert (step, outcome.status) != (step, "done")
        assert not (typing.workspace / "made").exists(), step


@pytest.mark.parametrize("params", [{}, {"commands": ["ls"], "script": "ls"}, {"commands": [], "script": ""}])
async def test_a_script_is_given_in_one_way(typing: Typing, params: dict[str, Any]) -> None:
    outcome = await typing.script(**params)
    assert outcome.code == "bad_params"
    assert "either commands or script" in outcome.message


async def test_a_script_stops_at_its_first_bad_line_unless_told_to_go_on(typing: Typing) -> None:
    script = "echo a\ngrep nothing numbers.txt\necho b\ncat none\necho c"
    outcome = await typing.script(script=script)
    assert (outcome.status, outcome.result["stdout"], outcome.result["ran"]) == ("failed", "a\nb\n", 4)
    assert outcome.message == "Step 4 (cat none): cat: none: No such file or directory"
    outcome = await typing.script(script=script, keepGoing=True)
    assert (outcome.status, outcome.result["stdout"], outcome.result["failed"]) == ("done", "a\nb\nc\n", 1)
    assert outcome.result["exitCode"] == 0


async def test_a_dry_run_shows_the_steps_and_does_none(typing: Typing) -> None:
    outcome: Outcome = await typing.house.gate.handle(
        Request(
            command="shell/script",
            credential=Credential(owner=True),
            door="test",
            params={"script": "touch  made;ls|wc -l"},
            dry_run=True,
        )
    )
    assert outcome.result["effect"]["steps"] == ["touch made; ls | wc -l"]
    assert not (typing.workspace / "made").exists()


async def test_scripts_stand_inside_each_other_only_so_deep(typing: Typing) -> None:
    line = "pwd"
    for _ in range(6):
        line = "shell/script --script='" + line.replace("'", "'\\''") + "'"
    _, complaints, code = await typing.line(line)
    assert code != 0
    assert "deep" in complaints


async def test_secrets_in_a_line_reach_neither_the_history_nor_the_ledger(typing: Typing) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwx"
    session = (await typing.ask("session/open")).result["session"]
    await typing.line(f"TOKEN={secret}; echo password=hunter22 {secret}", session)
    shown = (await typing.ask("session/show", session=session)).result
    rows = await typing.house.services.store.read("SELECT params, note FROM ledger ORDER BY seq DESC LIMIT 10")
    assert shown["variables"] == {"TOKEN": "[redacted]"}
    for told in (str(shown), str(rows)):
        assert secret not in told
        assert "hunter22" not in told


@pytest.mark.parametrize(
    ("calls_a_minute", "code", "retry", "effect"),
    [(1, "too_fast", "later", "none"), (2, "command_failed", "after_fix", "unknown")],
)
async def test_a_script_of_which_nothing_ran_says_when_it_may_be_asked_for_again(
    tmp_path: Path, calls_a_minute: int, code: str, retry: str, effect: str
) -> None:
    settings = Settings(limits=LimitSettings(per_minute=calls_a_minute))
    async with open_house(Home(tmp_path / "home"), changes=settings) as house:
        outcome = await Typing(house).script(commands=["ls", "ls"])
    assert (outcome.code, outcome.retry, outcome.effect) == (code, retry, effect)
    assert (outcome.retry_after is not None) == (retry == "later")
    assert outcome.result["steps"][-1]["code"] == "too_fast"
