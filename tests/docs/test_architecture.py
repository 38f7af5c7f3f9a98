"""Symbols that the documents name exist, and every package is described."""

from __future__ import annotations

import ast
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


def _trace(title: str) -> list[tuple[str, str]]:
    """The files and functions that a trace of the architecture page names, in its order."""
    section = ARCHITECTURE.partition(f"### {title}\n")[2].partition("\n#")[0]
    return _IN_FILE.findall(section)


@pytest.mark.parametrize("title", ["A tool call over MCP", "A file edit from the terminal", "A message to a persona"])
def test_a_trace_names_files_and_functions_that_exist(title: str) -> None:
    steps = _trace(title)
    assert len({file for file, _ in steps}) >= 7
    assert [file for file, _ in steps if not (PACKAGE / file).is_file()] == []
    assert [
        f"{file}:{name}"
        for file, name in steps
        if not exists("doorward." + file.removesuffix(".py").replace("/", "."), name.split("."))
    ] == []


def test_the_traces_begin_at_a_door_and_pass_the_gate() -> None:
    assert _trace("A tool call over MCP")[0][0].startswith("doors/mcp/")
    assert ("gate/gate.py", "Gate.handle") in _trace("A tool call over MCP")


def test_every_package_is_described() -> None:
    parts = [path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert [part for part in sorted(parts) if part != "__init__" and f"**`{part}`**" not in ARCHITECTURE] == []


def test_every_package_says_what_lives_in_it() -> None:
    silent = [
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("__init__.py")
        if not (ast.get_docstring(ast.parse(file.read_text())) or "").strip()
    ]
    assert silent == []


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
