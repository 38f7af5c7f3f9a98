"""Changing one entry of a configuration file and nothing else: JSON with comments, and TOML."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorward.cli.clients import json_config, toml_config
from doorward.config import jsonc
from doorward.config.jsonc import UnreadableText

ENTRY = {"command": "/opt/doorward", "args": ["mcp", "--room", "general"]}
OTHER = {**ENTRY, "args": ["mcp", "--room", "lab"]}

JSON_TEXTS = {
    "empty object": "{}",
    "empty object with a line": "{\n}\n",
    "other settings": '{\n  "theme": "dark"\n}\n',
    "an empty list of servers": '{\n  "mcpServers": {}\n}\n',
    "another server": '{\n  "mcpServers": {\n    "a": {\n      "command": "x"\n    }\n  },\n  "theme": "dark"\n}\n',
    "tabs": '{\n\t"mcpServers": {\n\t\t"a": {"command": "x"}\n\t}\n}',
    "line ends of Windows": '{\r\n  "mcpServers": {\r\n    "a": {"command": "x"}\r\n  }\r\n}\r\n',
    "one line": '{"theme": "dark", "mcpServers": {"a": {"command": "x"}}}',
    "comments": '// mine\n{\n  /* a, b */ "mcpServers": {\n    "a": {"command": "x"} // it, too\n    // last\n  }\n}\n',
    "trailing commas": '{\n  "mcpServers": {\n    "a": {"command": "x"}, // first\n  },\n}\n',
    "a mark at the beginning": '\ufeff{\n  "mcpServers": {"a": {}}\n}\n',
    "other alphabets": '{\n  "größe": "😀",\n  "mcpServers": {\n    "é": {"command": "ö"}\n  }\n}\n',
    "many like it": '{"projects": {"/a": {"mcpServers": {"doorward": {"command": "old"}}}}, "mcpServers": {"a": {}}}',
}
TOML_TEXTS = {
    "nothing": "",
    "other settings": 'model = "x" # why\n',
    "no line at the end": '[mcp_servers.a]\ncommand = "x"',
    "another server": '# top\n[mcp_servers.a]\ncommand = "x" # a\n\n[mcp_servers.a.env]\nK = "v"\n\n# b\n[b]\nc = 1\n',
    "what looks like tables": "text = '''\n[mcp_servers.doorward]\n'''\nlist = [\n  [1, 2],\n  ['[x]'],\n]\n",
    "line ends of Windows": '[mcp_servers.a]\r\ncommand = "x"\r\n',
    "quoted names": '[mcp_servers."a.b"]\ncommand = "x"\n[["li st"]]\nk = 1\n[["li st"]]\nk = 2\n',
}


@pytest.mark.parametrize("text", JSON_TEXTS.values(), ids=JSON_TEXTS.keys())
def test_a_json_entry_comes_in_changes_and_goes_and_all_else_stays(text: str) -> None:
    added = json_config.set_entry(text, "mcpServers", "doorward", ENTRY)
    before, after = jsonc.parse_jsonc(text).value, jsonc.parse_jsonc(added).value
    assert after["mcpServers"].pop("doorward") == ENTRY
    assert after == {"mcpServers": {}, **before}
    assert json_config.set_entry(added, "mcpServers", "doorward", ENTRY) == added
    changed = json_config.set_entry(added, "mcpServers", "doorward", OTHER)
    assert json_config.entry(changed, "mcpServers", "doorward") == OTHER
    assert json_config.set_entry(changed, "mcpServers", "doorward", ENTRY) == added
    if before.get("mcpServers"):
        assert json_config.remove_entry(added, "mcpServers", "doorward") == text
    for comment in re.findall(r"//[^\n]*|/\*.*?\*/", text):
        assert comment in added


@pytest.mark.parametrize("text", TOML_TEXTS.values(), ids=TOML_TEXTS.keys())
def test_a_toml_table_comes_in_changes_and_goes_and_all_else_stays(text: str) -> None:
    entry: dict[str, Any] = {**ENTRY, "env": {"DOORWARD_HOME": 'C:\\a "b"'}}
    added = toml_config.set_entry(text, "mcp_servers", "doorward", entry)
    assert added.startswith(text)
    assert tomllib.loads(added)["mcp_servers"]["doorward"] == entry
    assert toml_config.set_entry(added, "mcp_servers", "doorward", entry) == added
    changed = toml_config.set_entry(added, "mcp_servers", "doorward", OTHER)
    assert toml_config.entry(changed, "mcp_servers", "doorward") == OTHER
    assert toml_config.remove_entry(changed, "mcp_servers", "doorward") in (text, f"{text}\n")


def test_a_toml_table_in_the_middle_goes_without_the_comment_of_the_next() -> None:
    ours = '[mcp_servers.doorward]\ncommand = "d"\n[mcp_servers.doorward.env]\nK = "v"\n'
    text = f"[a]\nx = 1\n\n{ours}\n# about b\n[b]\ny = 2\n"
    assert toml_config.remove_entry(text, "mcp_servers", "doorward") == "[a]\nx = 1\n\n# about b\n[b]\ny = 2\n"
    changed = toml_config.set_entry(text, "mcp_servers", "doorward", OTHER)
    assert changed.endswith("\n\n# about b\n[b]\ny = 2\n")
    assert tomllib.loads(changed) == {"a": {"x": 1}, "mcp_servers": {"doorward": OTHER}, "b": {"y": 2}}


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { doorward = { command = "d" } }\n',
        '[mcp_servers]\ndoorward = { command = "d" }\n',
        'mcp_servers.doorward.core.command = "d"\n',
        '[mcp_servers.doorward.env]\nK = "v"\n',
        '[mcp_servers.doorward]\ncommand = "d"\n[b]\n[mcp_servers.doorward.env]\nK = "v"\n',
        "mcp_servers = 5\n",
        "mcp_servers = { a = { } }\n",
    ],
)
def test_a_toml_file_written_in_another_way_is_left_to_people(text: str) -> None:
    with pytest.raises(UnreadableText):
        toml_config.set_entry(text, "mcp_servers", "doorward", OTHER)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        ('{"a": nope}', "line 1, column 7"),
        ('{"a": 1', "line 1, column 8"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a" 1}', "line 1, column 6"),
        ("[1, 2]", "line 1, column 1"),
        ('{"a": 1} x', "line 1, column 10"),
        ("{ /* never closed", "line 1, column 3"),
        ('{"mcpServers": null}', "line 1, column 16"),
        ('{"mcpServers": {}, "mcpServers": {}}', "line 1, column 20"),
        ('{"mcpServers": {"doorward": 1, "doorward": 2}}', "line 1, column 32"),
        ('{"a": "\n"}', "line 1, column 7"),
        ("[" * 5_000, "line 1, column 102"),
        ('{"a": NaN}', "line 1, column 7"),
    ],
)
def test_json_that_cannot_be_read_says_where(text: str, where: str) -> None:
    with pytest.raises(UnreadableText, match=where):
        json_config.set_entry(text, "mcpServers", "doorward", ENTRY)


@pytest.mark.parametrize("text", ["a = ", "[a\n", "a = 1\na = 2\n", 'x = """never closed', "\x00"])
def test_toml_that_cannot_be_read_says_where(text: str) -> None:
    with pytest.raises(UnreadableText, match=r"\(at (line \d+, column \d+|end of document)\)"):
        toml_config.set_entry(text, "mcp_servers", "doorward", ENTRY)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1_000, 1_000) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(max_size=5), _VALUES, max_size=4),
    st.dictionaries(st.text(max_size=5), _VALUES, max_size=3),
    st.sampled_from([None, 1, 2, "\t"]),
)
def test_any_json_file_gains_and_loses_just_one_entry(
    settings: dict[str, Any], servers: dict[str, Any], indent: int | str | None
) -> None:
    whole = {**settings, "mcpServers": servers}
    text = json.dumps(whole, indent=indent)
    added = json_config.set_entry(text, "mcpServers", "doorward", ENTRY)
    assert json.loads(added) == {**whole, "mcpServers": {**servers, "doorward": ENTRY}}
    assert json.loads(json_config.remove_entry(added, "mcpServers", "doorward")) == {
        **whole,
        "mcpServers": {key: value for key, value in servers.items() if key != "doorward"},
    }
