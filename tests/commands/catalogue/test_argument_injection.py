"""No argument of any command of the shipped catalogue can become an option that is not declared (R6.2)."""

from __future__ import annotations

import string
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from catalogue_house import Shell
from dangerous_options import LONG, SHORT, WORDS
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from doorward.commands.catalogue.entry import CatalogueEntry, CatalogueParameter
from doorward.commands.catalogue.parser import parse_catalogue
from doorward.commands.catalogue.watched_catalogue import shipped_catalogue
from doorward.commands.programs import CatalogueCommand, bash, build_commands
from doorward.config.settings import Settings
from doorward.core.errors import BadParams

COMMANDS: dict[str, CatalogueCommand] = {
    command.entry.name: command
    for command in build_commands(parse_catalogue(shipped_catalogue(), "commands.json"), Settings())[0]
    if isinstance(command, CatalogueCommand)
}
PROGRAMS = {command.entry.program for command in COMMANDS.values()}
WRAPPERS = ["env", "nice", "timeout", "xargs", "sudo", "nohup", "setsid", "stdbuf"]
INTERPRETERS = [
    "bash",
    "sh",
    "dash",
    "zsh",
    "python3",
    "perl",
    "ruby",
    "awk",
    "gawk",
    "mawk",
    "vim",
    "less",
    "man",
]
every_command = pytest.mark.parametrize("name", COMMANDS)


def declared(entry: CatalogueEntry) -> set[str]:
    return {spelling for one in entry.options for spelling in (one.short, one.long) if spelling}


def flags(entry: CatalogueEntry) -> list[CatalogueParameter]:
    return [one for one in entry.options if one.type == "flag"]


def refused(command: CatalogueCommand, words: list[str]) -> str:
    with pytest.raises(BadParams) as caught:
        command.check({"arguments": words})
    return caught.value.message


def around(entry: CatalogueEntry, word: str) -> Iterator[list[str]]:
    """An option in all the places where it might slip through."""
    yield [word]
    yield [word, "x"]
    yield ["x", word]
    yield ["x", word, "y"]
    for flag in flags(entry)[:3]:
        yield [flag.spelling, word]
        yield [word, flag.spelling]


def foreign_words(argv: tuple[str, ...], entry: CatalogueEntry) -> list[str]:
    """The words of an argv that begin with a dash where the program looks for options, and are not declared ones."""
    words = list(argv[1 + len(entry.prefix) :])
    by_spelling = {one.spelling: one for one in entry.options}
    found = []
    while words:
        word = words.pop(0)
        if word == "--":
            break
        if not word.startswith("-"):
            continue
        option = by_spelling.get(word)
        if option is not None:
            if option.type != "flag":
                words.pop(0)
            continue
        long = by_spelling.get(word.partition("=")[0])
        attached = any(
            one.spelled == "attached" and word.startswith(one.spelling) for one in entry.options if one.type != "flag"
        )
        if not attached and (long is None or long.spelled != "equals"):
            found.append(word)
    return found


@every_command
def test_every_dangerous_option_is_refused_in_every_spelling(name: str) -> None:
    command = COMMANDS[name]
    entry, known = command.entry, declared(command.entry)
    for long in LONG.get(entry.program, "").split():
        for length in range(1, len(long) + 1):
            word = f"--{long[:length]}"
            if word in known:
                continue
            for words in (*around(entry, word), *around(entry, f"{word}=x")):
                assert "there is no option" in refused(command, words), words
    for letter in SHORT.get(entry.program, "").strip():
        if f"-{letter}" in known:
            continue
        clusters = [f"-{flag.short[1]}{letter}" for flag in flags(entry) if flag.short]
        for word in (f"-{letter}", f"-{letter}x", *clusters, *(f"{cluster}x" for cluster in clusters)):
            if word not in known:
                for words in around(entry, word):
                    assert "there is no option" in refused(command, words), words
    for word in WORDS.get(entry.program, "").split():
        if word in known:
            continue
        for words in around(entry, word):
            assert "there is no option" in refused(command, words), words


@every_command
def test_no_option_can_be_abbreviated(name: str) -> None:
    command = COMMANDS[name]
    known = declared(command.entry)
    for one in command.entry.options:
        for length in range(2, len(one.long)):
            word = one.long[:length]
            if word in known or word == "--":
                continue
            for words in (*around(command.entry, word), *around(command.entry, f"{word}=1")):
                assert "there is no option" in refused(command, words), words


@every_command
def test_every_letter_that_is_not_declared_is_refused(name: str) -> None:
    command = COMMANDS[name]
    known = declared(command.entry)
    clusters = [flag.short for flag in flags(command.entry) if flag.short]
    for letter in string.ascii_letters + string.digits:
        if f"-{letter}" in known:
            continue
        for word in (f"-{letter}", f"-{letter}=x", *(f"{cluster}{letter}" for cluster in clusters)):
            if word not in known:
                assert "there is no option" in refused(command, [word]), word


@every_command
def test_a_flag_takes_no_value_and_comes_once(name: str) -> None:
    command = COMMANDS[name]
    for flag in flags(command.entry):
        if flag.long.startswith("--"):
            assert "takes no value" in refused(command, [f"{flag.long}=x"])
        assert "given twice" in refused(command, [flag.spelling, flag.spelling])


@every_command
def test_a_value_with_a_leading_dash_never_stands_where_options_do(name: str) -> None:
    command = COMMANDS[name]
    entry = command.entry
    needed = dict(entry.examples[0].params)
    if "arguments" in needed:
        needed = {}
    for one in entry.parameters:
        for value in ("-x", "--exec=x", "-oProxyCommand=x", "--", "-", "--output=x", "-e", "-rf"):
            params = {**needed, one.name: [value] if one.many else value}
            try:
                argv = command.task(params).argv
            except BadParams:
                continue
            assert foreign_words(argv, entry) == [], argv


@every_command
def test_paths_stay_in_the_workspace(name: str) -> None:
    command = COMMANDS[name]
    needed = {key: value for key, value in command.entry.examples[0].params.items() if key != "arguments"}
    for one in command.entry.parameters:
        if one.type != "path":
            continue
        for path in (
            "../../etc",
            "..",
            "/etc/passwd",
            "/",
            "src/../../x",
            "/workspace/../etc",
            "/workspace-evil/x",
            "x\x00y",
            "x\ny",
        ):
            with pytest.raises(BadParams):
                command.check({**needed, one.name: [path] if one.many else path})
        with pytest.raises(BadParams, match="leads out of the workspace"):
            command.check({**needed, "folder": "src", one.name: ["../../x"] if one.many else "../../x"})
    for folder in ("..", "/etc", "a/../..", "/workspace/../x", "a\x00"):
        with pytest.raises(BadParams):
            command.check({**needed, "folder": folder})


@every_command
def test_what_is_not_declared_does_not_exist(name: str) -> None:
    command = COMMANDS[name]
    needed = dict(command.entry.examples[0].params)
    for key in ("env", "environment", "cwd", "sandbox", "network", "approved", "shell", "argv", "program", "stdin"):
        if key not in command.schema["properties"]:
            with pytest.raises(BadParams, match="Unknown parameter"):
                command.check({**needed, key: True})
    most = [one for one in command.entry.arguments if one.many]
    if not most:
        extra = ["x"] * (len(command.entry.arguments) + 1)
        assert "one argument too many" in refused(command, extra) or "must be" in refused(command, extra)


@hypothesis_settings(max_examples=400, deadline=None)
@given(name=st.sampled_from(sorted(COMMANDS)), data=st.data())
def test_whatever_words_are_given_no_foreign_option_comes_of_them(name: str, data: st.DataObject) -> None:
    command = COMMANDS[name]
    entry = command.entry
    spellings = sorted(declared(entry)) or ["-x"]
    long = LONG.get(entry.program, "exec output").split() or ["exec"]
    word = st.one_of(
        st.sampled_from(spellings),
        st.sampled_from([f"--{one}" for one in long]),
        st.sampled_from(["--", "-", "src", "x", "5", "1,2", "+3", "HEAD", "-rf", "--x=y", "-n5", "a=b", ";", "$(id)"]),
        st.text(max_size=8),
        st.text(max_size=6).map(lambda text: f"-{text}"),
    )
    words = data.draw(st.lists(word, max_size=6))
    try:
        argv = command.task({"arguments": words}).argv
    except BadParams:
        return
    assert argv[: 1 + len(entry.prefix)] == (entry.program, *entry.prefix)
    assert foreign_words(argv, entry) == []


def test_no_wrapper_shell_or_interpreter_is_in_the_catalogue() -> None:
    assert PROGRAMS.isdisjoint({*WRAPPERS, *INTERPRETERS, "ssh", "dd", "chown", "mount", "kill", "tclsh", "ed", "ex"})


def test_what_runs_the_code_of_a_project_needs_the_access_that_bash_needs() -> None:
    builds = {command.entry.program for command in COMMANDS.values() if command.entry.profile == "build"}
    assert builds == {"pytest", "ruff", "mypy", "make", "npm", "pnpm", "yarn", "node", "tsc", "go", "cargo"}
    for command in COMMANDS.values():
        if command.entry.program in builds or command.entry.workspace_path:
            ours, bashs = command.facts, bash.command.facts
            assert (ours.access, ours.safety, ours.effects) == (bashs.access, bashs.safety, bashs.effects)


def test_the_tables_speak_of_programs_that_are_there() -> None:
    spoken_of = {name.strip() for table in (LONG, SHORT, WORDS) for name in table}
    assert sorted(spoken_of - PROGRAMS) == []


@pytest.mark.parametrize("program", ["sort", "tar", "sed", "grep", "cp", "wc", "du", "date", "diff", "shuf"])
def test_the_dangerous_options_are_real(program: str) -> None:
    """As the program's own help has it, so that the refusals above mean something."""
    told = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    missing = [long for long in LONG[program].split() if f"--{long}" not in told]
    assert len(missing) <= len(LONG[program].split()) // 3, missing


@pytest.mark.parametrize(
    "name", [*WRAPPERS, *INTERPRETERS, "shell/sudo", "shell/env", "shell/bash", "shell_sudo", "SUDO"]
)
async def test_wrappers_and_interpreters_are_unknown(shell: Shell, name: str) -> None:
    outcome = await shell.ask(name, ["whoami"])
    if name == "bash":
        assert outcome.code == "bad_params"
    else:
        assert outcome.code == "unknown_command", outcome


@pytest.mark.parametrize("depth", range(1, 9))
async def test_chains_of_wrappers_start_nothing(shell: Shell, depth: int) -> None:
    canary = shell.workspace / "canary"
    chain = ["env", "nice -n 1", "timeout 5", "nohup", "setsid", "stdbuf -o0", "xargs", "env -i"][:depth]
    line = " ".join([*chain, "bash", "-c", "'touch canary'"])
    outcome = await shell.ask("shell/script", {"commands": [line]})
    assert outcome.status != "done"
    for command in ("echo", "printf", "basename"):
        printed = await shell.ask(command, line.split())
        assert printed.status in ("done", "refused")
    assert not canary.exists()


ATTACKS: list[tuple[str, list[str] | dict[str, Any]]] = [
    ("sort", ["--compress-prog=touch canary", "server.log"]),
    ("sort", ["-S1b", "--compress-program", "./evil", "server.log"]),
    ("sort", ["-o", "canary", "list.txt"]),
    ("sort", ["-uocanary", "list.txt"]),
    ("find", [".", "-exec", "touch", "canary", ";"]),
    ("find", [".", "-fprint", "canary"]),
    ("find", [".", "-delete"]),
    ("find", {"name": "x -o -exec touch canary ;"}),
    ("tar_create", ["-f", "x.tar", "--checkpoint=1", "--checkpoint-action=exec=touch canary", "src"]),
    ("tar_create", ["-f", "x.tar", "-I", "touch canary", "src"]),
    ("tar_extract", ["-f", "x.tar", "--to-command=touch canary"]),
    ("tar_create", {"archive": "x.tar", "paths": ["--checkpoint-action=exec=touch canary"]}),
    ("sed", ["1e touch canary", "list.txt"]),
    ("sed", ["w canary", "list.txt"]),
    ("sed", ["s/a/b/w canary", "list.txt"]),
    ("sed", ["-i", "s/a/b/", "list.txt"]),
    ("uniq", ["list.txt", "canary"]),
    ("xxd", ["list.txt", "canary"]),
    ("date", ["-s", "2001-01-01"]),
    ("file", ["-C", "-m", "list.txt"]),
    ("grep", ["-f", "/etc/passwd", "list.txt"]),
    ("cat", ["/etc/passwd"]),
    ("ls", ["../../etc"]),
    ("cp", ["/etc/passwd", "canary"]),
    ("cp", ["-t", "notes", "list.txt"]),
    ("ln", ["-s", "/etc/passwd", "canary"]),
    ("chmod", ["777", "list.txt"]),
    ("chmod", ["4755", "list.txt"]),
    ("chmod", ["o+w", "list.txt"]),
    ("chmod", ["u+s", "list.txt"]),
    ("git_log", ["--output=canary"]),
    ("git_log", ["-c", "core.pager=touch canary"]),
    ("git_diff", ["--ext-diff"]),
    ("git_diff", ["--no-index", "/etc/passwd", "list.txt"]),
    ("git_grep", ["--open-files-in-pager=touch canary", "a"]),
    ("git_grep", ["-Otouch canary", "a"]),
    ("git_grep", {"pattern": "--open-files-in-pager=touch canary"}),
    ("git_log", {"revision": "--output=canary"}),
    ("git_log", {"format": "%G?"}),
    ("git_init", ["--template=/etc"]),
    ("git_init", ["../outside"]),
    ("git_show", ["--textconv", "HEAD:list.txt"]),
    ("git_add", ["../../etc/passwd"]),
    ("git_commit", ["-F", "/etc/passwd"]),
    ("jq", ["-f", "/etc/passwd"]),
    ("jq", ["-n", "--rawfile", "x", "/etc/passwd", "$x"]),
    ("sleep", ["100"]),
    ("echo", ["-e", "a"]),
]


@pytest.mark.parametrize(("name", "attack"), ATTACKS, ids=[f"{name} {attack}" for name, attack in ATTACKS])
async def test_known_attacks_fail_through_the_gate(shell: Shell, name: str, attack: Any) -> None:
    before = (shell.workspace / "list.txt").read_text()
    outcome = await shell.ask(name, attack)
    found_nothing = outcome.status == "done" and not outcome.result["stdout"]
    escaped_by_dashes = name == "tar_create" and outcome.code == "command_failed"
    sandboxed = name == "sed" and outcome.code == "command_failed"
    assert outcome.code in ("bad_params", "not_permitted") or found_nothing or escaped_by_dashes or sandboxed, outcome
    assert not (shell.workspace / "canary").exists()
    assert (shell.workspace / "list.txt").read_text() == before
