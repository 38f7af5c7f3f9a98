"""Symbols that the documents name exist, and no part of the house is left out of the description."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from console_blocks import ROOT

from doorward.commands.families import PLUGIN_GROUP
from doorward.config.home import Home
from doorward.store.ledger.record import COLUMNS

PACKAGE = ROOT / "src" / "doorward"
DOCUMENTS = {path.name: path.read_text() for path in [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]}
ARCHITECTURE = DOCUMENTS["ARCHITECTURE.md"]

_HOME = Home(Path())
_NO_SYMBOLS = {_HOME.settings.name, _HOME.database.name, _HOME.socket.name, PLUGIN_GROUP}
_IN_FILE = re.compile(r"`([\w/]+\.py):([\w.]+)`")
_DOTTED = re.compile(r"`(doorward(?:\.\w+)+)`")


def exists(module: str, names: list[str]) -> bool:
    try:
        found: object = importlib.import_module(module)
        for name in names:
            found = getattr(found, name)
    except (ImportError, AttributeError):
        return False
    return True


def is_there(dotted: str) -> bool:
    parts = dotted.split(".")
    return any(exists(".".join(parts[:n]), parts[n:]) for n in range(len(parts), 0, -1))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_symbol_that_a_document_names_exists(document: str) -> None:
    in_files = _IN_FILE.findall(DOCUMENTS[document])
    missing = [
        f"{file}:{name}"
        for file, name in in_files
        if not exists("doorward." + file.removesuffix(".py").replace("/", "."), name.split("."))
    ]
    dotted = set(_DOTTED.findall(DOCUMENTS[document])) - _NO_SYMBOLS
    missing += [name for name in dotted if not is_there(name)]
    assert missing == []


def test_the_architecture_names_many_symbols() -> None:
    assert len(_IN_FILE.findall(ARCHITECTURE)) > 30


def test_every_part_directly_in_the_package_is_described() -> None:
    parts = [path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert [part for part in sorted(parts) if part != "__init__" and f"**`{part}`**" not in ARCHITECTURE] == []


def test_every_step_of_the_gate_is_described() -> None:
    helpers = {"__init__", "gate", "cache", "present"}
    steps = [path.stem for path in (PACKAGE / "gate").glob("*.py") if path.stem not in helpers]
    assert [step for step in steps if f"`gate/{step}.py:" not in ARCHITECTURE] == []


def test_every_field_of_a_record_is_described() -> None:
    assert [name for name in COLUMNS if f"`{name}`" not in DOCUMENTS["LEDGER.md"]] == []


def test_a_symbol_that_does_not_exist_is_found() -> None:
    assert not exists("doorward.gate.gate", ["Gate", "bypass"])
    assert not is_there("doorward.gate.backdoor")
    assert is_there("doorward.gate.gate.Gate.handle")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files_that_exist(document: str) -> None:
    folder = ROOT if (ROOT / document).exists() else ROOT / "docs"
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", DOCUMENTS[document])
    missing = [target for target in targets if "://" not in target and not (folder / Path(target)).exists()]
    assert missing == []
