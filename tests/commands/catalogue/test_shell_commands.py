"""shell/* and bash through the gate (R6.3, R6.7, R1.3)."""

from __future__ import annotations

from typing import Any

import pytest
from catalogue_house import Shell

from doorward.commands.families import ALIASES
from doorward.commands.programs import CatalogueCommand
from doorward.core.model import Credential, Outcome, Request

SECRET = "hunter2-hunter2-hunter2"


async def as_agent(shell: Shell, name: str, **params: Any) -> Outcome:
    """An agent in the first room, whose recipe asks for approval of what writes."""
    credential = Credential(owner=True, speak_as="helper")
    return await shell.house.gate.handle(Request(name, credential, "test", room="general", params=params))


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("list_directory", "file/list"),
        ("read_file", "file/read"),
        ("remove_file", "file/delete"),
        ("change_directory", "shell/cd"),
        ("cd", "shell/cd"),
        ("copy_file", "shell/cp"),
        ("move_file", "shell/mv"),
        ("make_directory", "shell/mkdir"),
        ("print_text", "shell/echo"),
        ("ls", "shell/ls"),
        ("LS", "shell/ls"),
        ("shell_ls", "shell/ls"),
        ("shell.ls", "shell/ls"),
        ("git status", "shell/git_status"),
        ("git-log", "shell/git_log"),
        ("execute_script", "shell/script"),
        ("get_shell_info", "shell/info"),
        ("get_shell_context", "shell/context"),
        ("get_history", "shell/history"),
        ("list_files_detailed", "shell/files"),
        ("search_commands", "help/search"),
        ("bash", "bash"),
    ],
)
def test_names_that_people_and_models_use_find_their_command(shared_shell: Shell, name: str, command: str) -> None:
    assert shared_shell.house.services.registry.resolve(name).name == command


def test_no_alias_is_given_twice(shared_shell: Shell) -> None:
    catalogue = [alias for entry in shared_shell.house.services.catalogue.entries for alias in entry.aliases]
    assert len(catalogue) == len(set(catalogue))
    assert set(catalogue).isdisjoint(ALIASES)


async def test_cd_tells_what_to_pass(shell: Shell) -> None:
    assert (await shell.ask("cd", {"path": "src"})).result["folder"] == "src"
    assert (await shell.ask("cd", {"path": "../notes", "folder": "src"})).result["folder"] == "notes"
    assert (await shell.ask("cd", {})).result["folder"] == "."
    assert (await shell.ask("cd", {"path": "/workspace/src"})).result["folder"] == "src"
    for path in ("..", "/etc", "nowhere", "server.conf"):
        assert (await shell.ask("cd", {"path": path})).status != "done"


async def test_a_script_runs_its_steps_in_order_and_cd_holds(shell: Shell) -> None:
    outcome = await shell.ask(
        "execute_script",
        {
            "commands": [
                "cd src",
                "ls",
                {"command": "wc", "params": {"lines": True, "files": ["main.py"]}},
                "cd ..",
                "pwd",
            ]
        },
    )
    result = outcome.result
    assert [step["status"] for step in result["steps"]] == ["done"] * 5
    assert [step["step"] for step in result["steps"]] == [1, 2, 3, 4, 5]
    assert result["stdout"] == "main.py\nutil.py\n2 main.py\n/workspace\n"
    assert (result["cwd"], result["ran"], result["of"], result["failed"]) == ("/workspace", 5, 5, 0)


async def test_a_script_stops_at_the_first_failure_unless_told_otherwise(shell: Shell) -> None:
    commands = ["mkdir one", "cat not-there", "mkdir two"]
    outcome = await shell.ask("shell/script", {"commands": commands})
    assert (outcome.status, outcome.code) == ("failed", "command_failed")
    assert outcome.message == "Step 2 (cat not-there): cat: not-there: No such file or directory"
    assert outcome.result["ran"] == 2
    assert (shell.workspace / "one").is_dir()
    assert not (shell.workspace / "two").exists()
    outcome = await shell.ask("shell/script", {"commands": ["cat not-there", "mkdir two"], "keepGoing": True})
    assert outcome.status == "done"
    assert outcome.result["failed"] == 1
    assert (shell.workspace / "two").is_dir()


@pytest.mark.parametrize(
    "commands",
    [
        ["mkdir x", "sudo whoami"],
        ["mkdir x", "ls | sudo tee y"],
        ["mkdir x", "ls &"],
        ["mkdir x", "for f in *; do cat $f; done"],
        ["mkdir x", "echo `id`"],
        ["mkdir x", "echo 'never closed"],
        ["mkdir x", ""],
        ["mkdir x", {"command": "ls", "args": []}],
        ["mkdir x", {"command": 5}],
    ],
)
async def test_a_script_with_a_bad_step_does_not_begin(shell: Shell, commands: list[Any]) -> None:
    outcome = await shell.ask("shell/script", {"commands": commands})
    assert outcome.status != "done"
    assert not (shell.workspace / "x").exists()


async def test_what_is_quoted_is_words_and_nothing_else(shell: Shell) -> None:
    line = "echo \"test; rm -rf /\" '`whoami`' '$(id) | x > y' \\$HOME \"*\""
    outcome = await shell.ask("shell/script", {"commands": [line]})
    assert outcome.result["stdout"] == "test; rm -rf / `whoami` $(id) | x > y $HOME *\n"
    assert [step["command"] for step in outcome.result["steps"]] == ["sh/echo"]


async def test_every_step_of_a_script_is_checked_and_recorded(shell: Shell) -> None:
    outcome = await as_agent(shell, "shell/script", commands=["ls src", "rm list.txt", "ls"])
    assert outcome.status == "failed"
    assert "Step 2 (rm list.txt) is waiting for approval, ticket" in outcome.message
    assert [step["exitCode"] for step in outcome.result["steps"]] == [0, 75]
    assert (shell.workspace / "list.txt").exists()
    rows = await shell.house.services.store.read("SELECT command, status FROM ledger ORDER BY seq DESC LIMIT 9")
    assert {"command": "sh/ls", "status": "done"} in rows
    assert {"command": "file/list", "status": "done"} in rows
    assert {"command": "shell/rm", "status": "parked"} in rows


async def test_every_shipped_command_that_writes_needs_approval_in_code_collaboration(shell: Shell) -> None:
    policy = shell.house.services.recipes.policy("code-collaboration")
    assert policy is not None
    written = [one for one in shell.house.services.registry if isinstance(one, CatalogueCommand) and not one.reads_only]
    assert len(written) >= 15
    assert [one.name for one in written if policy.approval_terms(one) is None] == []
    assert [one.name for one in written if not policy.rule_on(one).allowed] == []
    reads = [one for one in shell.house.services.registry if isinstance(one, CatalogueCommand) and one.reads_only]
    assert [one.name for one in reads if policy.approval_terms(one) is not None] == []
    parked = await as_agent(shell, "shell/rm", paths=["list.txt"])
    assert parked.status == "parked"
    assert (await as_agent(shell, "ls", paths=["src"])).status == "done"


async def test_what_cannot_run_is_refused_and_asked_of_nobody(shell: Shell) -> None:
    for command, params in (
        ("shell/rm", {"arguments": ["--no-preserve-root", "/"]}),
        ("bash", {"command": "rm -rf /"}),
    ):
        outcome = await as_agent(shell, command, **params)
        assert (outcome.status, outcome.code) == ("refused", "bad_params")


async def test_info_and_context_show_no_secret(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", SECRET)
    for command, params in (("shell/info", {}), ("shell/context", {"includeEnv": True})):
        outcome = await shell.ask(command, params)
        assert outcome.status == "done"
        assert SECRET not in outcome.text
        assert str(shell.workspace) not in outcome.text
        assert set(outcome.result["environment"]) <= {
            "PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "SHELL", "LANG", "TERM"
        }  # fmt: skip
    printed = await shell.ask("bash", {"command": "env"})
    assert SECRET not in printed.result["stdout"]


async def test_context_names_exactly_what_may_be_run(shell: Shell) -> None:
    outcome = await as_agent(shell, "shell/context")
    offered = {one["command"] for one in outcome.result["commands"]}
    assert {"shell/ls", "shell/rm"} <= offered
    assert offered == {f"shell/{entry.name}" for entry in shell.house.services.catalogue.entries}


async def test_history_is_the_callers_own(shell: Shell) -> None:
    await shell.ask("echo", ["by the owner"])
    await as_agent(shell, "echo", text=["by the agent"])
    mine = (await shell.ask("get_history", {"limit": 5})).result["items"]
    its = (await as_agent(shell, "shell/history", limit=5)).result["items"]
    assert mine[0]["params"] == {"arguments": ["by the owner"]}
    assert mine[0]["status"] == "done"
    assert its[0]["params"] == {"text": ["by the agent"]}
    assert "by the owner" not in str(its)
    await shell.ask("mkdir", ["from-history"])
    assert (await shell.ask("get_history", {"limit": 1})).result["items"][0]["params"] == {
        "arguments": ["from-history"]
    }


async def test_files_are_listed_with_their_facts(shell: Shell) -> None:
    (shell.workspace / "src/main.py").chmod(0o640)
    outcome = await shell.ask("list_files_detailed", {"path": "src"})
    first = outcome.result["items"][0]
    assert (first["path"], first["mode"], first["permissions"], first["size"]) == (
        "src/main.py",
        "-rw-r-----",
        "0640",
        29,
    )
    assert (await shell.ask("shell/files", {"path": "../.."})).status == "failed"


async def test_bash_runs_where_and_what_it_is_told(shell: Shell) -> None:
    outcome = await shell.ask("bash", {"command": "pwd; echo out; echo err >&2", "folder": "src"})
    assert outcome.result["stdout"] == "/workspace/src\nout\n"
    assert outcome.result["stderr"] == "err\n"
    failed = await shell.ask("bash", {"command": "echo so; echo why >&2; exit 7"})
    assert (failed.code, failed.message) == ("command_failed", "bash ended with exit code 7: why")
    assert failed.result["stdout"] == "so\n"
    assert (await shell.ask("bash", {"command": "ls", "folder": "../.."})).code == "bad_params"


async def test_bash_reads_no_start_files(shell: Shell) -> None:
    (shell.workspace / ".bashrc").write_text("echo read\n")
    outcome = await shell.ask("bash", {"command": "echo $-; HOME=/workspace bash -c 'echo x'"})
    assert "read" not in outcome.result["stdout"]


@pytest.mark.parametrize(
    ("command", "given", "changes"),
    [
        ("rm", {"paths": ["list.txt"]}, "+++ /dev/null"),
        ("bash", {"command": "rm list.txt; echo bye; touch made"}, "  | bye\n"),
    ],
)
async def test_a_dry_run_shows_what_a_program_changes_and_changes_nothing(
    shell: Shell, command: str, given: dict[str, Any], changes: str
) -> None:
    before = sorted(shell.workspace.rglob("*"))
    outcome = await shell.ask(command, given, dry_run=True)
    assert (outcome.code, outcome.message) == ("dry_run", "Nothing was changed.")
    effect = outcome.result["effect"]
    assert effect["argv"][0] == command
    assert "In a trial run on a copy it ended with exit code 0." in effect["trial"]
    assert "--- a/list.txt" in effect["trial"]
    assert changes in effect["trial"]
    assert sorted(shell.workspace.rglob("*")) == before


async def test_a_dry_run_runs_nothing_that_needs_approval_or_cannot_run_on_a_copy(shell: Shell) -> None:
    params: dict[str, Any] = {"command": "cat server.conf"}
    agent = Request(
        "bash", Credential(owner=True, speak_as="helper"), "test", room="general", params=params, dry_run=True
    )
    effect = (await shell.house.gate.handle(agent)).result["effect"]
    assert "because the call needs approval" in effect["trial"]
    assert "port" not in str(effect)
    live = await shell.ask("bash", {**params, "live": True}, dry_run=True)
    assert "writes directly to the workspace" in live.result["effect"]["trial"]
    read = await shell.ask("cat", {"files": ["server.conf"]}, dry_run=True)
    assert (read.result["effect"]["trial"], read.result["effect"]["workspace"]) == (
        "It changes nothing.",
        "is read-only",
    )


async def test_a_failure_tells_the_last_complaint_and_keeps_the_result(shell: Shell) -> None:
    outcome = await shell.ask("cat", ["server.conf", "not-there"])
    assert outcome.message == "cat ended with exit code 1: cat: not-there: No such file or directory"
    assert outcome.result["stdout"] == "port = 80\n"
    assert outcome.result["argv"] == ["cat", "--", "server.conf", "not-there"]


async def test_a_reading_command_cannot_write(shell: Shell) -> None:
    """The declaration holds by the sandbox, not by the option list alone."""
    outcome = await shell.ask("sort", {"arguments": ["list.txt"]})
    assert outcome.effect == "none"
    command = shell.house.services.registry["shell/sort"]
    assert isinstance(command, CatalogueCommand)
    assert not command.task({"arguments": []}).writes


async def test_a_folder_that_is_not_there_is_said(shell: Shell) -> None:
    outcome = await shell.ask("ls", {"folder": "nowhere"})
    assert outcome.message == "The folder 'nowhere' does not exist, or is not a folder."
