"""Completion: scripts for each shell, and what they are answered."""

from __future__ import annotations

import subprocess

import pytest

import warm_doorward
from doorward_process import Doorward

READ_IN_BASH = """
eval "$(doorward completion bash)"
compopt() { echo "compopt $1 $2"; }
COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_doorward_completion doorward
printf '%%s\\n' "${COMPREPLY[@]}"
"""


def completed(doorward: Doorward, words: str) -> list[str]:
    """What a real bash offers behind these words."""
    script = READ_IN_BASH % words
    env = {**doorward.env, "PATH": f"{warm_doorward.stand_in().parent}:{doorward.env['PATH']}"}
    ended = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    return ended.stdout.split("\n")[:-1]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str, shared: Doorward) -> None:
    ended = shared("completion", shell)
    assert ended.code == 0
    assert f"_DOORWARD_COMPLETE={shell}_complete" in ended.out


def test_a_shell_that_is_not_known_is_refused(shared: Doorward) -> None:
    ended = shared("completion", "csh")
    assert ended.code == 2
    assert "'bash', 'zsh', 'fish'" in ended.err


def test_bash_can_read_its_script(shared: Doorward) -> None:
    script = shared("completion", "bash").out
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_subcommands_are_completed(shared: Doorward) -> None:
    assert completed(shared, "doorward ru") == ["run"]
    assert completed(shared, "doorward audit ver") == ["verify"]


def test_governed_commands_are_completed(shared: Doorward) -> None:
    assert completed(shared, "doorward run data/l") == ["data/list"]
    assert completed(shared, "doorward run --room general file/un") == ["file/undo"]
    assert completed(shared, "doorward explain system/sh") == ["system/shutdown"]


def test_parameters_are_completed_and_wait_for_their_value(shared: Doorward) -> None:
    assert completed(shared, "doorward run data/list --coll") == ["compopt -o nospace", "--collection="]


def test_options_of_run_are_completed(shared: Doorward) -> None:
    assert completed(shared, "doorward run --dry") == ["--dry-run"]


def test_completing_makes_no_home_folder(shared: Doorward) -> None:
    completed(shared, "doorward run data/l")
    assert not shared.home.exists()
