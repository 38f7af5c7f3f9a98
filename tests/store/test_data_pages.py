"""R7.2: pages give every row exactly once, whatever the order, with ties, nulls and mixed types."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import sqlite3
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorward.core.classification import Access
from doorward.core.errors import BadParams
from doorward.store import attached_databases, collection_queries, migrations, sql_functions
from doorward.store.collections import Collection
from doorward.store.managed_collections import ManagedCollection
from doorward.store.scope import Scope

SCOPE = Scope("t", frozenset({"ada"}), Access.ROOT)
NOTES = ManagedCollection("t", "notes", {}, 1)


@functools.cache
def database() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrations.migrate(db)
    sql_functions.install(db, {})
    db.execute("INSERT INTO collections VALUES ('t', 'notes', '{}', 1, 0.0)")
    db.execute("CREATE TABLE loose (a, b TEXT COLLATE NOCASE)")
    db.execute("CREATE TABLE tight (a TEXT, b TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID")
    return db


def walk(collection: Collection, limit: int, **params: Any) -> list[dict[str, Any]]:
    """All rows, page by page."""
    items: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = collection_queries.page(database(), collection, SCOPE, limit=limit, cursor=cursor, **params)
        assert len(page.items) <= limit
        items += page.items
        if page.cursor is None:
            return items
        assert len(page.items) == limit
        cursor = page.cursor


values = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, 1e300]) | st.text("aAé", max_size=2)
bodies = st.lists(st.dictionaries(st.sampled_from("ab"), values | st.lists(values, max_size=1)), max_size=12)
orders = st.lists(st.sampled_from(["a", "-a", "b", "-b", "id", "-id", "-version"]), max_size=3)


@settings(max_examples=150, deadline=None)
@given(bodies, orders, st.integers(1, 5))
def test_pages_of_records_give_every_row_once_and_in_order(
    some: list[dict[str, Any]], order: list[str], limit: int
) -> None:
    db = database()
    db.execute("DELETE FROM records")
    for number, body in enumerate(some):
        db.execute(
            "INSERT INTO records VALUES ('t', 'notes', ?, ?, 1, 0.0, 0.0, '')", (f"r{number:02}", json.dumps(body))
        )
    paged = [item["id"] for item in walk(NOTES, limit, order_by=order)]
    assert sorted(paged) == [f"r{number:02}" for number in range(len(some))]
    assert paged == [item["id"] for item in walk(NOTES, 1_000, order_by=order)]
    assert paged == [item["id"] for item in walk(NOTES, limit, order_by=",".join(order))]


cells = (
    st.none()
    | st.integers(-1, 1)
    | st.sampled_from([0.5, float("inf")])
    | st.text("aA", max_size=2)
    | st.binary(max_size=1)
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(cells, st.none() | st.text("aAbB", max_size=2)), max_size=12),
    st.sampled_from(["a", "-b", "b,-a"]),
    st.integers(1, 4),
)
def test_pages_of_a_table_without_a_key_give_every_row_once(
    some: list[tuple[Any, Any]], order: str, limit: int
) -> None:
    db = database()
    db.execute("DELETE FROM loose")
    db.executemany("INSERT INTO loose VALUES (?, ?)", some)
    paged = walk(attached_databases.find(db, "main", "loose"), limit, order_by=order)
    assert sorted(item["rowid"] for item in paged) == list(range(1, len(some) + 1))


@settings(max_examples=60, deadline=None)
@given(st.sets(st.tuples(st.text("ab", max_size=2), st.text("ab", max_size=2)), max_size=8), st.integers(1, 4))
def test_pages_of_a_table_with_two_key_columns_give_every_row_once(some: set[tuple[str, str]], limit: int) -> None:
    db = database()
    db.execute("DELETE FROM tight")
    db.executemany("INSERT INTO tight VALUES (?, ?)", some)
    table = attached_databases.find(db, "main", "tight")
    for order in (None, "-a"):
        paged = walk(table, limit, order_by=order)
        assert sorted((item["a"], item["b"]) for item in paged) == sorted(some)


def filled() -> str:
    db = database()
    db.execute("DELETE FROM records")
    for number in range(4):
        db.execute("INSERT INTO records VALUES ('t', 'notes', ?, '{\"a\": 1}', 1, 0.0, 0.0, '')", (f"r{number}",))
    page = collection_queries.page(db, NOTES, SCOPE, limit=2, order_by="a")
    assert page.cursor is not None
    return page.cursor


def test_a_row_added_or_removed_between_pages_shifts_nothing() -> None:
    cursor = filled()
    db = database()
    db.execute("INSERT INTO records VALUES ('t', 'notes', 'r00', '{\"a\": 1}', 1, 0.0, 0.0, '')")
    db.execute("DELETE FROM records WHERE id = 'r1'")
    page = collection_queries.page(db, NOTES, SCOPE, limit=2, order_by="a", cursor=cursor)
    assert [item["id"] for item in page.items] == ["r2", "r3"]


@pytest.mark.parametrize(
    "wrong", ["x", "x" * 99, "é", "bnVsbA", base64.urlsafe_b64encode(b"[1, 2, 3]").decode(), "W10", "{}", "=", "\x00"]
)
def test_a_made_up_cursor_is_refused(wrong: str) -> None:
    filled()
    with pytest.raises(BadParams, match="cursor does not belong to this list"):
        collection_queries.page(database(), NOTES, SCOPE, order_by="a", cursor=wrong)


def test_a_cursor_belongs_to_its_collection_filter_and_order() -> None:
    cursor = filled()
    for other in ({"order_by": "-a"}, {"order_by": "a", "where": {"a": 1}}, {}):
        with pytest.raises(BadParams, match="cursor does not belong"):
            collection_queries.page(database(), NOTES, SCOPE, cursor=cursor, **other)


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=4)))
def test_a_forged_cursor_is_refused_or_harmless(forged: Any) -> None:
    mark = collection_queries.paging.fingerprint("notes", None, None)
    text = base64.urlsafe_b64encode(json.dumps([mark, forged]).encode()).decode().rstrip("=")
    with contextlib.suppress(BadParams):
        collection_queries.page(database(), NOTES, SCOPE, cursor=text)


@pytest.mark.parametrize("order", ["-", "a,,b", ["a"] * 11, ["", "a"], "a,"])
def test_a_wrong_order_is_refused(order: Any) -> None:
    with pytest.raises(BadParams, match="orderBy takes"):
        collection_queries.page(database(), NOTES, SCOPE, order_by=order)
