"""The generated pages are what the generator gives, and their examples mean what the commands declare."""

from __future__ import annotations

import runpy
import subprocess

import pytest
from console_blocks import ROOT, blocks

from doorward.commands.families import FAMILIES
from doorward.config.settings import LocalModelSettings, ProviderSettings, Settings
from doorward.config.settings.sandbox import BuildSettings
from doorward.config.settings.upstream import PackageSettings
from doorward.core.argtext import convert_args, parse_args

PAGES = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
COMMANDS = [command for family in FAMILIES for command in family.commands if not command.unlisted]


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == PAGES[name], "run `make docs`"


def test_every_command_and_parameter_is_on_the_page() -> None:
    page = PAGES["COMMANDS.md"]
    for command in COMMANDS:
        section = page.partition(f"### {command.name}\n")[2].partition("\n### ")[0]
        assert command.description in section
        assert all(f"| `{name}` |" in section for name in command.schema["properties"])


def test_every_setting_is_on_the_page_with_a_sentence() -> None:
    rows = [line.split(" | ") for line in PAGES["SETTINGS.md"].splitlines() if line.startswith("| `")]
    given = {row[0].strip("| `"): row[-1] for row in rows}
    tables = [
        *(getattr(Settings(), name) for name in Settings.__struct_fields__),
        ProviderSettings(),
        LocalModelSettings(),
        BuildSettings(),
        PackageSettings(),
    ]
    fields = [name for table in tables for name in table.__struct_fields__]
    assert sorted(given) == sorted(set(fields))
    assert len(rows) == len(fields)
    assert all(sentence.rstrip(" |").endswith(".") for sentence in given.values())


def test_every_example_line_reaches_the_command_as_declared() -> None:
    """A shell reads the lines, as it would for a person who copies them."""
    lines = "\n".join(blocks(PAGES["COMMANDS.md"], "sh"))
    script = "doorward() { printf '%s\\0' \"$@\"; printf '\\0'; }\n" + lines
    printed = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout.decode()
    read = {}
    for call in printed.removesuffix("\0\0").split("\0\0"):
        words = [word for word in call.split("\0") if word not in ("run", "--as=me", "--room=")]
        read.setdefault(words[0], []).append(parse_args(words[1:]))
    for command in COMMANDS:
        meant = [dict(example.params) for example in command.facts.examples]
        assert [convert_args(command, pairs) for pairs in read[command.name]] == meant
