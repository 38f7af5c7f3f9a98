"""Virtual paths have one spelling each, and names of records can stand in them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorward.core.errors import BadParams
from doorward.shell.vfs.paths import escape_key, normalize_path, unescape_key
from doorward.shell.vfs.read_commands import parse_size

HOME = "/home/anna"
SPELLINGS = [
    ("/workspace/a", "/workspace/a"),
    ("a/b", "/workspace/src/a/b"),
    (".", "/workspace/src"),
    ("./a/./b/", "/workspace/src/a/b"),
    ("..", "/workspace"),
    ("../../../../x", "/x"),
    ("/../..", "/"),
    ("//data///rooms//", "/data/rooms"),
    ("~", HOME),
    ("~/notes/../a", f"{HOME}/a"),
    ("~other", "/workspace/src/~other"),
    ("/data/a%2Fb", "/data/a%2Fb"),
    ("a b;$(c)", "/workspace/src/a b;$(c)"),
]


@pytest.mark.parametrize(("typed", "meant"), SPELLINGS)
def test_a_path_has_one_spelling(typed: str, meant: str) -> None:
    assert normalize_path(typed, "/workspace/src", HOME) == meant


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "is empty"),
        ("a\x00b", "control character"),
        ("a\nb", "control character"),
        ("x" * 5_000, "the maximum is 4096"),
    ],
)
def test_what_cannot_be_a_path_is_refused(typed: str, says: str) -> None:
    with pytest.raises(BadParams, match=says):
        normalize_path(typed)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_key_of_a_record_is_a_name_and_back(key: str) -> None:
    name = escape_key(key)
    assert unescape_key(name) == key
    assert normalize_path(f"/data/c/{name}") == f"/data/c/{name}"


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="/.~ab%", min_size=1, max_size=30))
def test_a_spelling_stays_as_it_is(typed: str) -> None:
    once = normalize_path(typed, "/workspace", HOME)
    assert normalize_path(once, "/data", "/home/other") == once
    assert once == "/" or not once.endswith("/")
    assert ".." not in once.split("/")


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("0", 0), ("300", 300), ("10k", 10_240), ("1 MB", 1_048_576), ("2.5G", 2_684_354_560), ("1KiB", 1024)],
)
def test_sizes_are_read_as_people_write_them(text: str, bytes_: int) -> None:
    assert parse_size(text) == bytes_


@pytest.mark.parametrize("text", ["", "big", "-1", "1X", "1e9", "٣"])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadParams, match="Invalid size"):
        parse_size(text)
