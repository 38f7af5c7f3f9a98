"""Help is there for every subcommand, and a wrong command line says what would be right."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator

import click
import pytest

from doorward.cli.main import SUBCOMMANDS, cli
from doorward_process import BIN, Doorward
from waiting import PATIENCE


def subcommands(name: str) -> Iterator[tuple[list[str], list[str]]]:
    """Each way to a subcommand below `name`, with the names below it."""
    command = cli.get_command(click.Context(cli), name)
    below = list(command.commands) if isinstance(command, click.Group) else []
    yield [name], below
    for one in below:
        yield [name, one], []


def test_help_mentions_every_subcommand_with_its_sentence(shared: Doorward) -> None:
    ended = shared("--help")
    assert ended.code == 0
    shown = " ".join(ended.out.split())
    assert [name for name, sentence in SUBCOMMANDS.items() if f"{name} {sentence}" not in shown] == []


def test_help_makes_no_home_folder(shared: Doorward) -> None:
    assert shared("--help").code == shared("run", "--help").code == 0
    assert not shared.home.exists()


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_subcommand_has_help(name: str, shared: Doorward) -> None:
    for path, below in subcommands(name):
        ended = shared(*path, "--help")
        assert (ended.code, ended.err) == (0, ""), path
        assert ended.out.startswith(f"Usage: doorward {' '.join(path)}"), path
        assert [one for one in below if f"  {one} " not in ended.out] == [], path


def test_the_version_is_told(shared: Doorward) -> None:
    ended = shared("--version")
    assert ended.code == 0
    assert ended.out.startswith("doorward, version ")


def test_the_package_can_be_run_as_a_module(shared: Doorward) -> None:
    seen = shared.on_terminal("python -m doorward --help")
    assert seen.code == 0
    assert "Usage: doorward " in seen.out


def test_an_unknown_subcommand_is_a_wrong_command_line(shared: Doorward) -> None:
    ended = shared("rnu")
    assert ended.code == 2
    assert "No such command 'rnu'" in ended.err
    assert "doorward --help" in ended.err


def test_a_governed_command_without_run_is_told_how(shared: Doorward) -> None:
    ended = shared("data/list", "--collection=rooms")
    assert ended.code == 2
    assert "run it with: doorward run data/list --collection=rooms" in ended.err


def test_run_without_a_command_says_what_to_name(shared: Doorward) -> None:
    ended = shared("run")
    assert ended.code == 2
    assert "Name a command, such as data/list" in ended.err


@pytest.mark.parametrize(
    "args", [["explain"], ["rooms", "create", "lab"], ["audit", "tail", "-n", "0"], ["up", "--port=x"]]
)
def test_a_wrong_option_or_a_missing_one_ends_with_2(args: list[str], shared: Doorward) -> None:
    ended = shared(*args)
    assert ended.code == 2
    assert ended.err.startswith("Usage: doorward ")
    assert "Error: " in ended.err


@pytest.mark.parametrize(
    "args",
    [
        ["file/write", "--help"],
        ["file/write", "-h"],
        ["--room=general", "file_write", "--path=x", "--help"],
        ["file/write --help"],
    ],
)
def test_help_after_a_command_is_the_help_of_that_command(args: list[str], shared: Doorward) -> None:
    ended = shared("run", *args)
    assert (ended.code, "Usage: doorward run" in ended.out) == (0, False)
    assert "file/write: Write a file" in ended.out
    assert "\n  --path=<string>              File path in the workspace" in ended.out
    assert "\n  [--encoding=<base64|utf-8>]  The encoding" in ended.out
    assert "for example: file/write --path=notes/today.md" in ended.out


def test_the_help_of_a_program_has_its_options_and_needs_no_permission(shared: Doorward) -> None:
    assert "-r --recursive" in shared("run", "grep", "--help").out
    assert "system/status: Show" in shared("run", "system/status", "--help").out
    assert shared("run", "ls", "-h").json["result"]["argv"] == ["ls", "--human-readable", "--"]
    unknown = shared("run", "file/wirte", "--help")
    assert (unknown.code, "file/write" in unknown.err) == (3, True)
    assert "parameters: none" in shared("shell", "-c", "system/status -h").out


@pytest.mark.parametrize("args", [["run", "file/write", "--help"], ["explain", "nosuch"]])
def test_closed_standard_streams_break_nothing(args: list[str], shared: Doorward) -> None:
    whole = shared(*args)
    for closing in ("<&-", ">&-", "<&- >&- 2>&-"):
        line = f"{shlex.join(['doorward', *args])} {closing}"
        ended = subprocess.run(["bash", "-c", line], env=shared.env, capture_output=True, text=True, timeout=PATIENCE)
        assert ended.returncode == whole.code, (line, ended)
        assert "Traceback" not in ended.stderr
        assert "Internal error" not in ended.stderr


def test_a_reader_that_left_ends_it_as_a_shell_reports_a_broken_pipe(shared: Doorward) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        for args, streams in ((["status"], {"stdout": writer}), (["nosuch"], {"stderr": writer})):
            unread = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **streams}
            ended = subprocess.run([BIN / "doorward", *args], env=shared.env, timeout=PATIENCE, **unread)
            assert (ended.returncode, b"Error" in (ended.stderr or b"")) == (141, False)
    finally:
        os.close(writer)


@pytest.mark.parametrize(
    "args",
    [
        ["run", "--as=", "data/list", "--collection=rooms"],
        ["run", "data/list", "--collection=rooms", "--as="],
        ["run", "--token=", "data/list", "--collection=rooms"],
        ["explain", "--token", "", "data/list"],
        ["init", "--workspace", ""],
    ],
)
def test_an_empty_value_does_not_stand_for_the_person_or_the_default(args: list[str], shared: Doorward) -> None:
    ended = shared(*args)
    assert ended.code in (2, 3)
    assert "is empty" in ended.err
