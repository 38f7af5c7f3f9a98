"""A catalogue that a program prints: read once, within bounds, and a bad one never replaces a good one."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from doorward.commands.catalogue import watched_catalogue
from doorward.commands.catalogue.watched_catalogue import CataloguePrintError, print_catalogue

ENTRY = {"name": "greet", "summary": "Say hello.", "program": "echo", "prefix": ["hello"]}


def python(code: str) -> str:
    return f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(code)}"


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("'open", "the command cannot be parsed: No closing quotation"),
        ("/nowhere/at-all", "cannot be started: No such file or directory"),
        (python("import sys; sys.exit('no luck')"), "ended with exit code 1: 'no luck'"),
        (python("print('x' * 2000)"), "prints more than 1000 bytes"),
    ],
)
def test_what_cannot_be_had_is_said(command: str, wrong: str) -> None:
    with pytest.raises(CataloguePrintError, match=wrong):
        print_catalogue(command, 1_000)


def test_a_program_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_catalogue, "_PRINT_SECONDS", 0.2)
    with pytest.raises(CataloguePrintError, match="did not end within"):
        print_catalogue(python("import time; time.sleep(60)"), 1_000)


def test_no_shell_reads_it_and_it_sees_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    code = "import os, sys; print(sys.argv[1:], 'OPENAI_API_KEY' in os.environ)"
    assert print_catalogue(f"{python(code)} '$HOME; ls'", 1_000) == b"['$HOME; ls'] False\n"


async def test_the_house_takes_its_programs_from_what_is_printed(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "printed.json"
    file.write_text(json.dumps({"commands": [ENTRY]}))
    monkeypatch.setenv("USHELL_CATALOG_CMD", f"cat {file}")
    async with opened() as driver:
        assert "shell/greet" in driver.house.services.registry
        assert "shell/ls" not in driver.house.services.registry
    file.write_text("{")
    async with opened() as driver:
        assert "shell/greet" in driver.house.services.registry
        assert "USHELL_CATALOG_CMD" in driver.house.services.catalogue.problem
