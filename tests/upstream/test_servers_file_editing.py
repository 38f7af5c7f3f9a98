"""A change of one server leaves every other byte of the file as people wrote it."""

from __future__ import annotations

import json

import pytest

from doorward.errors import Conflict, NotFound
from doorward.upstream import editing
from doorward.upstream.parse import parse

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
    more = editing.added(text, "three", {"command": "z", "args": ["a"]})
    assert editing.ids(more) == ["one", "two", "three"]
    assert editing.entry(more, "three") == {"command": "z", "args": ["a"]}
    assert editing.removed(more, "three") == text
    assert parse(more.encode(), "f", {}).servers[2].args == ("a",)


@pytest.mark.parametrize("text", TEXTS)
def test_each_server_can_be_removed(text: str) -> None:
    assert editing.ids(editing.removed(text, "one")) == ["two"]
    assert editing.ids(editing.removed(text, "two")) == ["one"]
    assert editing.ids(editing.removed(editing.removed(text, "two"), "one")) == []


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("id", ["one", "two"])
def test_a_server_is_switched_off_and_on_and_nothing_else_changes(text: str, id: str) -> None:
    off, on = editing.switched(text, id, False), editing.switched(text, id, True)
    for changed, enabled in ((off, False), (on, True), (editing.switched(off, id, True), True)):
        found = {one.id: one.enabled for one in parse(changed.encode(), "f", {}).servers}
        others = {one.id: one.enabled for one in parse(text.encode(), "f", {}).servers}
        assert found == {**others, id: enabled}
    assert editing.switched(off, id, False) == off
    assert editing.switched(on, id, True) == on


def test_the_lines_that_are_not_concerned_stay_as_they_are() -> None:
    changed = editing.switched(LIST, "two", True)
    assert changed == LIST.replace("false", "true")
    added = editing.added(LIST, "three", {"command": "z"})
    assert all(line in added.splitlines() for line in LIST.splitlines() if line != "        }")


def test_the_first_server_makes_the_file() -> None:
    assert json.loads(editing.added(None, "one", {"command": "x"})) == {"servers": [{"id": "one", "command": "x"}]}
    assert json.loads(editing.added('{"subAgentEnabled": true}', "one", {"command": "x"})) == {
        "subAgentEnabled": True,
        "servers": [{"id": "one", "command": "x"}],
    }


def test_an_id_is_not_taken_twice_and_a_missing_one_names_those_there_are() -> None:
    with pytest.raises(Conflict, match="The server 'one' exists already"):
        editing.added(MAP, "one", {"command": "z"})
    with pytest.raises(NotFound, match="There is no server 'three'; known servers: one, two"):
        editing.removed(MAP, "three")
    with pytest.raises(NotFound, match="There is no server 'three'; there are no servers"):
        editing.switched(None, "three", True)
