"""docs/CATALOGUE.md shows only valid catalogues and what commands really print, and leaves out no field."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from doorward.commands.catalogue.parser import PUBLISHED_SCHEMA, parse_catalogue
from doorward.commands.programs import CatalogueCommand, build_commands
from doorward.config.settings import Settings
from doorward_process import Doorward

PAGE = (Path(__file__).parents[3] / "docs" / "CATALOGUE.md").read_text()
SHOWN = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(CONSOLE,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("shown", SHOWN, ids=range(len(SHOWN)))
def test_every_shown_catalogue_is_valid(shown: str) -> None:
    build_commands(parse_catalogue(shown.encode(), "commands.json"), Settings())


def test_what_the_page_says_is_derived_is_so() -> None:
    (top_lines,), _ = build_commands(parse_catalogue(SHOWN[1].encode(), "commands.json"), Settings())
    assert isinstance(top_lines, CatalogueCommand)
    assert top_lines.task({"arguments": ["-n", "3", "a"]}).argv == ("head", "-n", "3", "a")
    assert top_lines.schema["properties"]["n"]["type"] == "integer"


@pytest.mark.parametrize("part", ["command", "option", "argument"])
def test_every_field_of_the_schema_is_on_the_page(part: str) -> None:
    section = PAGE.partition(f"## Fields of a{'n' if part != 'command' else ''} {part}\n")[2].partition("\n## ")[0]
    fields: dict[str, Any] = PUBLISHED_SCHEMA["$defs"][part]["properties"]
    rows = "".join(line for line in section.splitlines() if line.startswith("| `"))
    assert [name for name in fields if f"`{name}`" not in rows] == []


def test_the_commands_on_the_page_print_what_it_shows(tmp_path: Path) -> None:
    doorward = Doorward(tmp_path / ".doorward")
    assert doorward("init").code == 0
    (doorward.home / "commands.json").write_text(SHOWN[0])
    for step in re.split(r"^\$ ", CONSOLE, flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        printed = doorward.on_terminal(command).out
        printed = re.sub(r"\s+", " ", printed).strip()
        expected = re.sub(r"\s+", " ", expected).strip()
        pattern = ".*".join(re.escape(part) for part in expected.split("…"))
        assert re.fullmatch(pattern, printed, re.DOTALL), f"$ {command}\n{printed}"
