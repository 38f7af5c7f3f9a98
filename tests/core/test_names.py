"""Names on the wire (R1.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorward.commands.families import FAMILIES
from doorward.core import names
from doorward.core.registry import Registry


@pytest.mark.parametrize("name", ["data/list", "bash", "get_shell_info", "mcp/github/create_issue", "room/say"])
def test_canonical_names(name):
    assert names.is_canonical(name)


@pytest.mark.parametrize(
    "name", ["", "Data/list", "data/", "/list", "data//list", "a/b/c/d", "data list", "dåta/list", "x" * 300]
)
def test_what_is_no_canonical_name(name):
    assert not names.is_canonical(name)


@given(st.from_regex(names.CANONICAL, fullmatch=True))
def test_every_canonical_name_has_a_wire_name_that_every_door_takes(name):
    assert names.WIRE.fullmatch(names.wire_name(name))


@given(st.lists(st.from_regex(r"[a-z]{1,30}/[a-z]{20,60}", fullmatch=True), unique=True, min_size=2, max_size=6))
def test_long_names_stay_distinct_on_the_wire(given_names):
    assert len({names.wire_name(name) for name in given_names}) == len(given_names)


def test_every_command_can_be_found_again_from_its_wire_name():
    registry = Registry(FAMILIES)
    assert all(registry.resolve(command.wire) is command for command in registry)
    assert registry["data/list"].wire == "data_list"


@pytest.mark.parametrize(("python", "wire"), [("old_string", "oldString"), ("path", "path"), ("filter_", "filter")])
def test_parameters_are_written_in_camel_case(python, wire):
    assert names.to_camel(python) == wire
