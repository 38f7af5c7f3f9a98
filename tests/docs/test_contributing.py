"""The examples of CONTRIBUTING.md are run, and what it says of targets and errors is so."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from console_blocks import ROOT, blocks

from doorward.cli.main import SUBCOMMANDS
from doorward.commands.families import FAMILIES
from doorward.config.home import Home
from doorward.core.errors import BadParams

TEXT = (ROOT / "CONTRIBUTING.md").read_text()


def example(language: str, holds: str) -> str:
    (found,) = [block for block in blocks(TEXT, language) if holds in block]
    return found


async def test_the_command_the_door_and_the_recipe_work_together(opened: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "command.py").write_text(example("python", "Family("))
    (tmp_path / "door.py").write_text(example("python", "gate.handle"))
    family = runpy.run_path(str(tmp_path / "command.py"))["family"]
    answer = runpy.run_path(str(tmp_path / "door.py"))["answer"]
    recipe = example("json", "recipeId")
    async with opened(families=[family]) as driver:
        await driver.owner("recipe/put", id="word-counting", text=recipe)
        await driver.owner("room/create", name="words", recipe="word-counting")
        token = await driver.token("counter", rooms=["words"])
        gate = driver.house.gate
        assert '"words": 1' in await answer(gate, token, "words", "text/count --text=door")
        assert await answer(gate, token, "words", "recipe/list") == (
            "Command failed: recipe/list (tier information) is not allowed by this room's recipe; valid: text/count."
        )
        assert (await answer(gate, "", "words", "text/count --text=door")).startswith("Command failed: No credentials.")


async def test_the_program_of_the_example_runs(opened: Callable[..., Any], home: Home) -> None:
    home.create()
    entry = example("json", "word_frequency")
    (home.path / "commands.json").write_text(f"[{entry}]")
    async with opened() as driver:
        (home.path / "workspace").mkdir(exist_ok=True)
        (home.path / "workspace" / "words").write_text("a\nA\nb\n")
        outcome = await driver.ask("shell/word_frequency", params={"file": "words", "ignoreCase": True})
        assert outcome.result["stdout"].split() == ["2", "a", "1", "b"]


def test_every_target_of_the_makefile_is_described() -> None:
    targets = re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [target for target in targets if target != "help" and f"| `make {target}` |" not in TEXT] == []


def test_the_error_sentence_shown_is_one_that_is_said() -> None:
    (shown,) = re.findall(r"^> (.*)$", TEXT, re.MULTILINE)
    (read,) = [command for family in FAMILIES for command in family.commands if command.name == "file/read"]
    with pytest.raises(BadParams, match=f"^{re.escape(shown)}$"):
        read.check({"pth": "a.txt"})


def test_the_changelog_names_every_subcommand() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert [name for name in SUBCOMMANDS if f"`{name}`" not in changes.replace("`doorward ", "`")] == []


def test_no_document_names_a_path_of_the_machine_it_was_written_on() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*")]
    assert [path.name for path in documents if path.is_file() and str(ROOT) in path.read_text()] == []
