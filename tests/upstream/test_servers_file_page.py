"""docs/SERVERS.md shows only valid files and what commands really print, and leaves out no field."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from doorward.upstream.client_files import CLIENT_CONFIG_FILES
from doorward.upstream.server_file import SERVERS_SCHEMA, parse_servers
from doorward_process import Doorward

PAGE = (Path(__file__).parents[2] / "docs" / "SERVERS.md").read_text()
SHOWN = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CONSOLE = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]


@pytest.mark.parametrize("shown", [one for one in SHOWN if '"servers"' in one or '"mcpServers"' in one])
def test_every_shown_file_is_valid(shown: str) -> None:
    variables = {"GITHUB_TOKEN": "x" * 20, "SEARCH_TOKEN": "y" * 20}
    assert not any(one.problem for one in parse_servers(shown.encode(), "mcp-servers.json", variables).servers)


@pytest.mark.parametrize("part", ["server", "sandbox", "auth"])
def test_every_field_of_the_schema_is_on_the_page(part: str) -> None:
    rows = "".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    assert [
        name for name in SERVERS_SCHEMA["$defs"][part]["properties"] if f"`{name}`" not in rows and name != "type"
    ] == []


def test_every_field_at_the_top_is_on_the_page() -> None:
    assert [name for name in SERVERS_SCHEMA["properties"] if f"`{name}`" not in PAGE] == []


def test_every_client_whose_file_is_looked_at_is_named() -> None:
    assert [one.title for one in CLIENT_CONFIG_FILES if one.title not in PAGE] == []


def test_the_commands_on_the_page_print_what_it_shows(tmp_path: Path) -> None:
    doorward = Doorward(tmp_path / ".doorward")
    for step in re.split(r"^\$ ", CONSOLE, flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        printed = re.sub(r"\s+", " ", doorward.on_terminal(command).out).strip()
        wanted = re.sub(r"\s+", " ", expected).strip()
        pattern = ".*".join(re.escape(part) for part in wanted.split("…"))
        assert re.fullmatch(pattern, printed, re.DOTALL), f"$ {command}\n{printed}"
