"""A slice of the registry is replaced as a whole or not at all (R1.3, R1.4)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorward.commands.catalogue.parser import parse_catalogue
from doorward.commands.families import ALIASES, FAMILIES
from doorward.commands.programs import build_commands
from doorward.config.settings import Settings
from doorward.core.command import Command
from doorward.core.errors import UnknownCommand
from doorward.core.registry import Registry


def made(*entries: dict[str, Any]) -> tuple[list[Command], dict[str, str]]:
    whole = [{"summary": "X.", **entry} for entry in entries]
    return build_commands(parse_catalogue(json.dumps(whole).encode(), "commands.json"), Settings())


@pytest.fixture
def registry() -> Registry:
    return Registry(FAMILIES, ALIASES)


def test_a_slice_comes_and_goes(registry: Registry) -> None:
    before = {command.name for command in registry}
    registry.replace("catalogue", *made({"name": "one"}, {"name": "two", "aliases": ["deux"]}))
    assert {command.name for command in registry} == {*before, "shell/one", "shell/two"}
    assert registry.resolve("deux").name == "shell/two"
    assert registry.resolve("one").name == "shell/one"
    assert registry.resolve("shell_one").name == "shell/one"
    registry.replace("catalogue", *made({"name": "three"}))
    assert "shell/one" not in registry
    for gone in ("one", "two", "deux", "shell_one"):
        with pytest.raises(UnknownCommand):
            registry.resolve(gone)
    registry.replace("catalogue", [], {})
    assert {command.name for command in registry} == before


def test_what_does_not_fit_changes_nothing(registry: Registry) -> None:
    registry.replace("catalogue", *made({"name": "one"}))
    for entries in (
        [{"name": "cd"}],
        [{"name": "two", "aliases": ["one"]}, {"name": "three", "aliases": ["read_file"]}],
        [{"name": "two", "related": ["no/such"]}],
    ):
        with pytest.raises(TypeError):
            registry.replace("catalogue", *made(*entries))
        assert registry.resolve("one").name == "shell/one"
        assert "shell/two" not in registry


def test_a_bare_name_never_hides_what_is_there(registry: Registry) -> None:
    registry.replace(
        "catalogue", *made({"name": "bash"}, {"name": "undo"}, {"name": "read_file"}, {"name": "file_list"})
    )
    assert registry.resolve("bash").name == "bash"
    assert registry.resolve("undo").name == "undo"
    assert registry.resolve("read_file").name == "file/read"
    assert registry.resolve("file_list").name == "file/list"
    assert registry.resolve("shell/bash").name == "shell/bash"


def test_an_iteration_under_way_is_not_disturbed(registry: Registry) -> None:
    registry.replace("catalogue", *made({"name": "one"}))
    seen = []
    for command in registry:
        if not seen:
            registry.replace("catalogue", *made({"name": "two"}))
        seen.append(command.name)
    assert "shell/one" in seen
    assert "shell/two" not in seen
