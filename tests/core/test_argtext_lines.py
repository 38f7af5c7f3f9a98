"""Calls written as a line of text (R8.5's syntax, used by `doorward run`)."""

from __future__ import annotations

import pytest

from doorward.commands.families import ALIASES, FAMILIES
from doorward.core.argtext import convert_args, parse_line
from doorward.core.errors import BadParams
from doorward.core.registry import Registry

REGISTRY = Registry(FAMILIES, ALIASES)


@pytest.mark.parametrize(
    ("line", "name", "params"),
    [
        ("data/list --collection=rooms", "data/list", {"collection": "rooms"}),
        ("EXECUTE: data/list --collection=rooms --limit=10", "data/list", {"collection": "rooms", "limit": 10}),
        (
            'data/list --collection=rooms --filter={"name": {"$contains": "g n"}} --limit=3',
            "data/list",
            {"collection": "rooms", "filter": {"name": {"$contains": "g n"}}, "limit": 3},
        ),
        (
            'data/list --collection=rooms --filter={"a": "}]\\" {"} --limit=3',
            "data/list",
            {"collection": "rooms", "filter": {"a": '}]" {'}, "limit": 3},
        ),
        ('file/write --path="a b.txt" --content="x\\ny"', "file/write", {"path": "a b.txt", "content": "x\ny"}),
        ("file/write --path='a b' --content='x\\ny'", "file/write", {"path": "a b", "content": "x\\ny"}),
        ("file/write --path=7 --content=true", "file/write", {"path": "7", "content": "true"}),
        ("debug/logs --includeErrorsOnly --tailLines=10", "debug/logs", {"includeErrorsOnly": True, "tailLines": 10}),
        ("debug/logs --includeErrorsOnly=false", "debug/logs", {"includeErrorsOnly": False}),
        ("  ai/report  ", "ai/report", {}),
        ("file/write --path=a --content=", "file/write", {"path": "a", "content": ""}),
        ("file/write --path=a=b --content=c=d", "file/write", {"path": "a=b", "content": "c=d"}),
    ],
)
def test_a_line_is_read_as_it_was_meant(line, name, params):
    found, pairs = parse_line(line)
    assert (found, convert_args(REGISTRY[found], pairs)) == (name, params)


@pytest.mark.parametrize(
    "line",
    [
        "data/list collection=rooms",
        "data/list -c rooms",
        "data/list --collection='rooms",
        'data/list --collection="rooms',
        "data/list --=rooms",
        "data/list -- x",
    ],
)
def test_a_line_that_cannot_be_read_says_how_it_should_be(line):
    with pytest.raises(BadParams):
        parse_line(line)


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_aliases_find_their_command(alias, name):
    assert REGISTRY.resolve(alias).name == name
