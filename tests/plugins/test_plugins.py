"""A package that declares a family in the entry-point group is installed for real and its commands are governed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doorward.commands.families import PLUGIN_GROUP
from doorward_process import BIN, Doorward

GREETER = Path(__file__).parent / "greeter"


def installed(source: Path, tmp_path: Path) -> Path:
    """Install the package in `source` into a folder of its own, without any network."""
    target = tmp_path / "installed"
    subprocess.run(
        [
            *(BIN / "uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation"),
            *("--no-cache", "--python", sys.executable, "--target", target, source),
        ],
        check=True,
    )
    return target


def with_plugin(tmp_path: Path, code: str = "") -> Doorward:
    """A `doorward` that finds the greeter, or what `code` makes of it."""
    source = tmp_path / "greeter"
    shutil.copytree(GREETER, source)
    if code:
        (source / "greeter.py").write_text(code)
    return Doorward(tmp_path / "home", PYTHONPATH=str(installed(source, tmp_path)))


@pytest.fixture(scope="module")
def greeting(tmp_path_factory: pytest.TempPathFactory) -> Doorward:
    return with_plugin(tmp_path_factory.mktemp("plugin"))


def test_the_greeter_uses_the_group_that_the_house_reads() -> None:
    assert f'[project.entry-points."{PLUGIN_GROUP}"]' in (GREETER / "pyproject.toml").read_text()


def test_a_plugins_command_runs_in_a_room_whose_recipe_allows_it(greeting: Doorward) -> None:
    ended = greeting("run", "greet/hello", "--name=Ada")
    assert ended.code == 0, ended.err
    assert ended.json["result"] == {"greeting": "Hello, Ada!", "from": "terminal"}
    assert ended.json["rule"] == 'recipe code-collaboration: tier "information"'


def test_a_plugins_command_is_refused_where_the_recipe_does_not_allow_it(greeting: Doorward) -> None:
    assert greeting("rooms", "create", "quiet", "--recipe=casual-chat").code == 0
    ended = greeting("run", "--room", "quiet", "greet/hello", "--name=Ada")
    assert (ended.code, ended.json["code"]) == (3, "not_permitted")


def test_a_plugins_parameters_are_checked_like_any_other(greeting: Doorward) -> None:
    ended = greeting("run", "greet/hello", "--nmae=Ada")
    assert ended.json["message"] == "Unknown parameter 'nmae'. greet/hello takes name."


def test_a_plugins_calls_are_in_the_ledger(greeting: Doorward) -> None:
    assert greeting("run", "greet/hello", "--name=Grace").code == 0
    record = greeting("audit", "tail", "-n", "1").json
    assert (record["command"], record["params"], record["status"]) == ("greet/hello", '{"name":"Grace"}', "done")


def test_without_the_plugin_its_command_does_not_exist(tmp_path: Path) -> None:
    ended = Doorward(tmp_path / "home")("run", "greet/hello", "--name=Ada")
    assert (ended.code, ended.json["code"]) == (3, "unknown_command")


BROKEN = {
    "cannot be imported": (
        "import a_module_that_nobody_has",
        "The plugin greeter (greeter:family) cannot be loaded: No module named 'a_module_that_nobody_has'.",
    ),
    "is no family": (
        "family = 'greetings'",
        "The plugin greeter (greeter:family) is not a command family.",
    ),
    "leaves out a safety fact": (
        (GREETER / "greeter.py").read_text().replace("    safety=Safety.SAFE,\n", ""),
        "The plugin greeter (greeter:family) cannot be loaded: Family.command() missing 1 required keyword-only "
        "argument: 'safety'.",
    ),
    "takes a name that is taken": (
        (GREETER / "greeter.py").read_text().replace('"greet"', '"data"').replace('"hello"', '"list"'),
        "two commands named 'data/list'",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_plugin_that_is_broken_stops_the_start_and_is_named(fault: str, tmp_path: Path) -> None:
    code, sentence = BROKEN[fault]
    ended = with_plugin(tmp_path, code)("run", "data/list", "--collection=rooms")
    assert ended.code == 5
    assert ended.out == ""
    assert ended.err.startswith("unusable: ")
    assert sentence in ended.err
    assert "Traceback" not in ended.err
