"""docs/PROTECT.md shows what `doorward protect` really prints, and names every client, file, command and option."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import pytest
from console_blocks import ROOT, compare, steps

from doorward.cli.clients.hook_config import CLIENT_HOOKS
from doorward.cli.main import cli
from doorward.commands.native import family
from doorward.upstream.client_files import ClientMachine
from doorward_process import BIN, Doorward

PAGE = (ROOT / "docs" / "PROTECT.md").read_text()


def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    programs, project = tmp_path / "bin", tmp_path / "shop"
    programs.mkdir()
    project.mkdir()
    (programs / "doorward").symlink_to(BIN / "doorward")
    (programs / "bash").symlink_to(shutil.which("bash") or "/bin/bash")
    doorward = Doorward(tmp_path / ".doorward", PATH=str(programs))
    doorward.folder = project
    with doorward.serving():
        made = doorward(
            *("run", "--as=me", "--room=", "room/create"),
            *("--name=shop", "--recipe=coding", f"--workspace={project}"),
        )
        assert made.code == 0, made
        for step in steps(PAGE):
            seen = doorward.on_terminal(step.command, step.answer)
            difference = compare(step.expected, seen.out, {})
            assert not difference, f"$ {step.command}\n{difference}"


@pytest.mark.parametrize("id", [client.id for client in CLIENT_HOOKS])
def test_every_client_and_its_files_are_on_the_page(id: str) -> None:
    (client,) = [one for one in CLIENT_HOOKS if one.id == id]
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{id}` |")]
    assert f"`{client.project}`" in row
    assert f"`{client.user(ClientMachine('linux', Path('~'), Path()))}`" in row


def test_every_command_and_option_is_on_the_page() -> None:
    assert [command.name for command in family.commands if f"| `{command.name}` |" not in PAGE] == []
    command = cli.get_command(click.Context(cli), "protect")
    assert command is not None
    options = [opt for one in command.params for opt in one.opts if opt.startswith("--")]
    assert [option for option in options if option not in PAGE] == []
