"""A change of one server leaves every other byte of the file as people wrote it."""

from __future__ import annotations

import json

import pytest

from doorward.core.errors import Conflict, NotFound
from doorward.upstream import server_entry
from doorward.upstream.server_file import parse_servers

LIST = """{
    "servers": [
        {"id": "one",   "command": "x"},
        {
            "id": "two",
            "command": "y",
            "enabled": false
        }
    ],

    "toolApprovalRequired": true
}
"""
MAP = """{
  "mcpServers": {
    "One": { "command": "x" },
    "Two": {
      "command": "y",
      "disabled": true
    }
  }
}"""
TEXTS = [LIST, MAP, '{"servers":[{"id":"one","command":"x"},{"id":"two","command":"y"}]}', LIST.replace("\n", "\r\n")]


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_added_and_removed_again_leaves_the_text_as_it_was(text: str) -> None:
    more = server_entry.add_server(text, "three", {"command": "z", "args": ["a"]})
    assert server_entry.list_ids(more) == ["one", "two", "three"]
    assert server_entry.get_entry(more, "three") == {"command": "z", "args": ["a"]}
    assert server_entry.remove_server(more, "three") == text
    assert parse_servers(more.encode(), "f", {}).servers[2].args == ("a",)


@pytest.mark.parametrize("text", TEXTS)
def test_each_server_can_be_removed(text: str) -> None:
    assert server_entry.list_ids(server_entry.remove_server(text, "one")) == ["two"]
    assert server_entry.list_ids(server_entry.remove_server(text, "two")) == ["one"]
    assert server_entry.list_ids(server_entry.remove_server(server_entry.remove_server(text, "two"), "one")) == []


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("id", ["one", "two"])
def test_a_server_is_switched_off_and_on_and_nothing_else_changes(text: str, id: str) -> None:
    off, on = server_entry.set_enabled(text, id, False), server_entry.set_enabled(text, id, True)
    for changed, enabled in ((off, False), (on, True), (server_entry.set_enabled(off, id, True), True)):
        found = {one.id: one.enabled for one in parse_servers(changed.encode(), "f", {}).servers}
        others = {one.id: one.enabled for one in parse_servers(text.encode(), "f", {}).servers}
        assert found == {**others, id: enabled}
    assert server_entry.set_enabled(off, id, False) == off
    assert server_entry.set_enabled(on, id, True) == on


def test_the_lines_that_are_not_concerned_stay_as_they_are() -> None:
    changed = server_entry.set_enabled(LIST, "two", True)
    assert changed == LIST.replace("false", "true")
    added = server_entry.add_server(LIST, "three", {"command": "z"})
    assert all(line in added.splitlines() for line in LIST.splitlines() if line != "        }")


def test_the_first_server_makes_the_file() -> None:
    assert json.loads(server_entry.add_server(None, "one", {"command": "x"})) == {
        "servers": [{"id": "one", "command": "x"}]
    }
    assert json.loads(server_entry.add_server('{"subAgentEnabled": true}', "one", {"command": "x"})) == {
        "subAgentEnabled": True,
        "servers": [{"id": "one", "command": "x"}],
    }


def test_an_id_is_not_taken_twice_and_a_missing_one_names_those_there_are() -> None:
    with pytest.raises(Conflict, match="The server 'one' exists already"):
        server_entry.add_server(MAP, "one", {"command": "z"})
    with pytest.raises(NotFound, match="There is no server 'three'; known servers: one, two"):
        server_entry.remove_server(MAP, "three")
    with pytest.raises(NotFound, match="There is no server 'three'; there are no servers"):
        server_entry.set_enabled(None, "three", True)
