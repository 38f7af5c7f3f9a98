"""Results that do not fit the width of a terminal as they are stay readable."""

from __future__ import annotations

import pytest

from doorward.cli import tables


@pytest.fixture
def shown(monkeypatch, capsys):
    def show(value, columns=80):
        monkeypatch.setenv("COLUMNS", str(columns))
        tables.show_table(value)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return show


USE = {
    "id": "everything",
    "name": "Everything there is",
    "transport": "stdio",
    "enabled": True,
    "added_at": "2026-11-16T10:00:00.000Z",
    "last_used": None,
    "total_invocations": 12,
    "total_failures": 0,
}


def test_a_list_with_more_columns_than_can_be_read_is_shown_one_by_one_without_what_is_empty(shown):
    lines = shown({"items": [USE, USE]})
    assert lines[:2] == ["id                 everything", "name               Everything there is"]
    assert "added_at           2026-11-16T10:00:00.000Z" in lines
    assert not any("last_used" in line for line in lines)
    assert lines[-1] == "2 items"


def test_the_same_list_is_a_table_where_it_fits(shown):
    lines = shown({"items": [USE, USE]}, columns=160)
    assert lines[0].split() == list(USE)
    assert len(lines) == 4


def test_a_list_of_things_inside_another_thing_is_a_table_without_its_empty_columns(shown):
    server = {"id": "notes", "state": "ready", "tools": 3, "calls": 0, "failures": 0, "problem": ""}
    lines = shown({"version": "1", "servers": [server, {**server, "id": "time"}]})
    assert lines[1].split() == ["servers", "id", "state", "tools", "calls", "failures"]
    assert [line.split() for line in lines[2:]] == [[id, "ready", "3", "0", "0"] for id in ("notes", "time")]
