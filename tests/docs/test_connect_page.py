"""docs/CONNECT.md shows what `doorward connect` really prints, and names every client, file and option."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import pytest
from console_blocks import ROOT, compare, steps

from doorward.cli.clients.registry import CLIENTS
from doorward.cli.main import cli
from doorward.upstream.client_files import ClientMachine
from doorward_process import BIN, Doorward

PAGE = (ROOT / "docs" / "CONNECT.md").read_text()


def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    doorward = Doorward(tmp_path / ".doorward", PATH=str(_only_doorward(tmp_path / "bin")))
    for step in steps(PAGE):
        seen = doorward.on_terminal(step.command, step.answer)
        difference = compare(step.expected, seen.out, {})
        assert not difference, f"$ {step.command}\n{difference}"


def _only_doorward(folder: Path) -> Path:
    """A path of programs on which no client is, whatever this machine has installed."""
    folder.mkdir()
    (folder / "doorward").symlink_to(BIN / "doorward")
    (folder / "bash").symlink_to(shutil.which("bash") or "/bin/bash")
    return folder


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_every_client_and_its_files_are_on_the_page(client: object) -> None:
    (known,) = [one for one in CLIENTS if one is client]
    machine = ClientMachine("linux", Path("~"), Path())
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{known.id}` |")]
    assert known.user(machine).name in row
    if known.project is not None:
        assert f"`{known.project(machine)}`" in row


@pytest.mark.parametrize("name", ["connect", "mcp"])
def test_every_option_is_on_the_page(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    options = [opt for one in command.params for opt in one.opts if opt.startswith("--")]
    assert [option for option in options if option not in PAGE] == []
