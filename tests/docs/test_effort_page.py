"""docs/EFFORT.md is typed and run beside a real server, and its tables name what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from console_blocks import ROOT, blocks, compare, steps, with_known_ids

from doorward.commands.effort_services import ConversationState, RequestKind
from doorward.core.strictjson import loads
from doorward.rooms.personas.persona import Effort, parse_persona
from doorward_process import Doorward

PAGE = (ROOT / "docs" / "EFFORT.md").read_text()
FILES = blocks(PAGE, "json")


def rows(heading: str) -> list[str]:
    """The names in the first column of the first table behind a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)`", section, re.MULTILINE)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doorward]:
    doorward = Doorward(tmp_path_factory.mktemp("effort") / ".doorward")
    with doorward.up():
        (Path(doorward.folder) / "scout.json").write_text(FILES[0])
        yield doorward


def test_every_command_of_the_page_prints_what_it_shows(served: Doorward) -> None:
    known: dict[str, str] = {}
    for step in steps(PAGE):
        printed = served.on_terminal(with_known_ids(step.command, known)).out
        difference = compare(step.expected, printed, known)
        assert not difference, f"$ {step.command}\n{difference}"
    (request,) = [line for line in blocks(PAGE, "sh") if "effort/request" in line]
    asked = served.on_terminal(with_known_ids(request, known))
    assert asked.code == 0, asked


@pytest.mark.parametrize("text", FILES)
def test_every_file_of_the_page_is_a_persona_with_effort(text: str) -> None:
    persona = parse_persona(text.encode(), f"{loads(text.encode())['personaId']}.json")
    assert persona.effort is not None


def test_the_tables_name_every_field_state_and_request() -> None:
    fields = {"models", "subAgent", "recipe", "atOnce", "budget"}
    assert {one.encode_name for one in msgspec.structs.fields(Effort)} == fields
    assert set(rows("Switch it on")) == fields
    assert rows("Conversations") == list(get_args(ConversationState))
    assert set(rows("The sub-agent")) == set(get_args(RequestKind))
    assert rows("Energy") == ["high", "medium", "low", "urgent"]
