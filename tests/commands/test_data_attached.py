"""R7.1 and R7.6: the user's own SQLite databases as collections."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from data_fixtures import EDIT, FULL, OTHER, READ, ROOT, DataHouse

from doorward.config.settings import DataSettings
from doorward.core.errors import BadParams, Conflict, NotFound, NotPermitted, Unreachable
from doorward.store.sqlite import Statement

SHOP = '''
CREATE TABLE orders (no INTEGER PRIMARY KEY, item TEXT NOT NULL, price REAL CHECK (price >= 0), photo BLOB,
    total REAL GENERATED ALWAYS AS (price * 2) VIRTUAL);
INSERT INTO orders (no, item, price, photo) VALUES
    (1, 'pen', 1.5, x'00ff'), (2, 'ink', 7, NULL), (3, 'Cup', NULL, NULL);
CREATE TABLE keyed (code TEXT PRIMARY KEY, v);
INSERT INTO keyed VALUES ('a', 1), ('b', '[1, 2]');
CREATE TABLE loose (a, rowid TEXT);
INSERT INTO loose VALUES (1, 'x'), (1, 'x');
CREATE TABLE pairs (a TEXT, b INTEGER, v TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
INSERT INTO pairs VALUES ('x', 1, 'one'), ('x', 2, 'two');
CREATE TABLE owned (id INTEGER PRIMARY KEY, t TEXT,
    access_read TEXT, access_edit TEXT, access_full TEXT, access_deny TEXT);
INSERT INTO owned VALUES (1, 'all', NULL, '', '[]', NULL), (2, 'rob', '["rob"]', NULL, NULL, NULL),
    (3, 'eve', NULL, '["eve"]', NULL, NULL), (4, 'no ada', NULL, NULL, NULL, '["ada"]'),
    (5, 'broken grant', 'rob', NULL, NULL, NULL), (6, 'broken denial', NULL, NULL, NULL, 'rob');
CREATE TABLE "odd ""name"".x" (id INTEGER PRIMARY KEY, "a ""b""" TEXT, "select" TEXT);
INSERT INTO "odd ""name"".x" VALUES (1, 'q', 's');
CREATE TABLE children (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES orders (no));
CREATE VIEW v AS SELECT * FROM owned;
'''


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "own" / "shop.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.executescript(SHOP)
    return path


@pytest.fixture
def house(tmp_path: Path, shop: Path) -> Iterator[DataHouse]:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "text.db").write_text("this is no database at all, but long enough to be read as one " * 20)
    house = DataHouse(
        tmp_path,
        DataSettings(
            databases={
                "shop": f"sqlite:///{shop}",
                "near": "sqlite:///own/shop.db",
                "gone": f"sqlite:///{tmp_path}/gone.db",
                "text": f"sqlite:///{tmp_path}/text.db",
                "pipe": f"sqlite:///{pipe}",
                "own": f"sqlite:///{tmp_path}/doorward.db",
                "pg": "postgresql://user:hunter2-tiger@host/db",
                "house": f"sqlite:///{shop}",
            }
        ),
    )
    yield house
    house.store.close()


def rows(shop: Path, table: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(shop)) as db:
        return db.execute(f"SELECT * FROM {table}").fetchall()


async def test_tables_are_collections(house: DataHouse) -> None:
    found = await house.run("data/list", READ, collection="shop.orders", filter={"price": {"$gt": 1}}, orderBy="-price")
    assert found["items"] == [
        {"no": 2, "item": "ink", "price": 7.0, "photo": None, "total": 14.0},
        {"no": 1, "item": "pen", "price": 1.5, "photo": {"$base64": "AP8="}, "total": 3.0},
    ]
    assert (await house.run("data/read", collection="shop.orders", id=2))["item"] == "ink"
    assert (await house.run("data/read", collection="shop.orders", id="2"))["item"] == "ink"
    assert (await house.run("data/read", collection="near.keyed", id="a"))["v"] == 1
    assert (await house.run("data/count", collection="shop.orders", filter={"price": None})) == {"count": 1}
    total = await house.run("data/aggregate", collection="shop.orders", metrics={"sum": {"sum": "price"}})
    assert total["items"] == [{"sum": 8.5}]
    assert (await house.run("data/query", database="shop", sql="SELECT item FROM orders WHERE no = ?", params=[3]))[
        "items"
    ] == [{"item": "Cup"}]


async def test_tables_without_one_key_column_can_be_read_too(house: DataHouse) -> None:
    assert (await house.run("data/describe", collection="shop.loose"))["key"] == "_rowid_"
    found = await house.run("data/list", collection="shop.loose")
    assert found["items"] == [{"_rowid_": 1, "a": 1, "rowid": "x"}, {"_rowid_": 2, "a": 1, "rowid": "x"}]
    assert (await house.run("data/read", collection="shop.loose", id=2))["_rowid_"] == 2
    assert (await house.run("data/describe", collection="shop.pairs"))["key"] == "a,b"
    assert (await house.run("data/read", collection="shop.pairs", id='["x", 2]'))["v"] == "two"
    for wrong in ("x", '["x"]', "[[1], 2]", 5):
        with pytest.raises(BadParams, match=r"An id of shop\.pairs"):
            await house.run("data/read", collection="shop.pairs", id=wrong)


async def test_odd_names_are_quoted(house: DataHouse) -> None:
    name = 'shop.odd "name".x'
    where = {'a "b"': "q", "select": {"$ne": "x"}}
    found = await house.run("data/list", collection=name, filter=where, orderBy="select")
    assert found["items"] == [{"id": 1, 'a "b"': "q", "select": "s"}]
    await house.run("data/update", collection=name, id=1, data={'a "b"': "z"})
    assert (await house.run("data/read", collection=name, id=1))['a "b"'] == "z"
    with pytest.raises(BadParams, match="has no field"):
        await house.run("data/list", collection=name, filter={'a"': 1})


async def test_rows_are_created_updated_deleted_and_all_of_it_undone(house: DataHouse, shop: Path) -> None:
    before = rows(shop, "orders")
    made = await house.run(
        "data/create", EDIT, collection="shop.orders", data={"item": "hat", "photo": {"$base64": "AQI="}}
    )
    assert (made["no"], made["photo"]) == (4, {"$base64": "AQI="})
    creation = house.last
    await house.run("data/update", EDIT, collection="shop.orders", id=1, data={"item": "pencil", "photo": None})
    update = house.last
    assert rows(shop, "orders")[0] == (1, "pencil", 1.5, None, 3.0)
    assert await house.run("data/delete", FULL, collection="shop.orders", id=2) == {
        "deleted": "2",
        "collection": "shop.orders",
    }
    deletion = house.last
    assert [row[0] for row in rows(shop, "orders")] == [1, 3, 4]
    undone = []
    for caller, execution in ((EDIT, creation), (EDIT, update), (FULL, deletion)):
        await house.run("undo", caller, execution=execution)
        undone.append(house.last)
    assert rows(shop, "orders") == before
    for caller, execution in zip((EDIT, EDIT, FULL), undone, strict=True):
        await house.run("undo", caller, execution=execution)
    assert rows(shop, "orders") == [(1, "pencil", 1.5, None, 3.0), before[2], (4, "hat", None, b"\x01\x02", None)]


async def test_rows_found_by_row_id_or_two_keys_are_changed_and_restored(house: DataHouse, shop: Path) -> None:
    for table, id, data in (("loose", 2, {"a": "changed"}), ("pairs", '["x", 1]', {"v": "changed"})):
        before = rows(shop, table)
        await house.run("data/update", collection=f"shop.{table}", id=id, data=data)
        assert "changed" in str(rows(shop, table))
        await house.run("undo", execution=house.last)
        assert rows(shop, table) == before
        await house.run("data/delete", collection=f"shop.{table}", id=id)
        assert len(rows(shop, table)) == 1
        await house.run("undo", execution=house.last)
        assert rows(shop, table) == before
    made = await house.run("data/create", collection="shop.pairs", data={"a": "y", "b": 1, "v": "new"})
    assert made == {"a": "y", "b": 1, "v": "new"}
    await house.run("undo", execution=house.last)
    assert len(rows(shop, "pairs")) == 2


async def test_an_undo_is_refused_once_the_row_changed_outside(house: DataHouse, shop: Path) -> None:
    await house.run("data/update", collection="shop.orders", id=1, data={"item": "pencil"})
    with closing(sqlite3.connect(shop)) as db, db:
        db.execute("UPDATE orders SET price = 9 WHERE no = 1")
    with pytest.raises(Conflict, match=r"shop\.orders/1 has changed since"):
        await house.run("undo", execution=house.last)
    assert rows(shop, "orders")[0][1:3] == ("pencil", 9.0)


async def test_what_the_database_refuses_changes_nothing(house: DataHouse, shop: Path) -> None:
    before = rows(shop, "orders"), rows(shop, "children")
    for error, collection, data, id in (
        (Conflict, "shop.orders", {"item": "x"}, 1),
        (BadParams, "shop.orders", {"price": 1}, None),
        (BadParams, "shop.orders", {"item": "x", "price": -1}, None),
        (BadParams, "shop.orders", {"item": "x", "nope": 1}, None),
        (BadParams, "shop.orders", {"item": "x", "total": 1}, None),
        (BadParams, "shop.orders", {"item": "x", "photo": {"$base64": "!"}}, None),
        (Conflict, "shop.children", {"parent": 99}, None),
    ):
        with pytest.raises(error):
            await house.run("data/create", collection=collection, data=data, **({"id": id} if id else {}))
    with pytest.raises(BadParams, match="no identifies the record"):
        await house.run("data/update", collection="shop.orders", id=1, data={"no": 9})
    with pytest.raises(BadParams, match="which has no versions"):
        await house.run("data/update", collection="shop.orders", id=1, data={"item": "x"}, version=1)
    with pytest.raises(NotFound, match=r"no record 99 in shop\.orders"):
        await house.run("data/delete", collection="shop.orders", id=99)
    assert (rows(shop, "orders"), rows(shop, "children")) == before


async def test_a_dry_run_shows_the_row_and_rolls_back(house: DataHouse, shop: Path) -> None:
    before = rows(shop, "orders")
    shown = await house.effect("data/update", collection="shop.orders", id=1, data={"price": 3})
    assert (shown["before"]["total"], shown["after"]["total"]) == (3.0, 6.0)
    shown = await house.effect("data/create", collection="shop.orders", data={"item": "hat"})
    assert (shown["before"], shown["after"]["no"]) == (None, 4)
    shown = await house.effect("data/delete", collection="shop.orders", id=1)
    assert (shown["before"]["item"], shown["after"]) == ("pen", None)
    assert rows(shop, "orders") == before


async def test_nothing_is_changed_when_what_was_there_cannot_be_kept(house: DataHouse, shop: Path) -> None:
    before = rows(shop, "orders")
    await house.store.write(Statement("DROP TABLE before_images"))
    with pytest.raises(Exception, match="no such table"):
        await house.run("data/delete", collection="shop.orders", id=1)
    assert rows(shop, "orders") == before


async def test_access_columns_hold_in_every_command(house: DataHouse) -> None:
    async def sees(caller: Any) -> list[int]:
        listed = [item["id"] for item in (await house.run("data/list", caller, collection="shop.owned"))["items"]]
        queried = await house.run("data/query", caller, database="shop", sql="SELECT id FROM owned ORDER BY id")
        assert [item["id"] for item in queried["items"]] == listed
        assert (await house.run("data/count", caller, collection="shop.owned"))["count"] == len(listed)
        for id in range(1, 7):
            if id not in listed:
                with pytest.raises(NotFound):
                    await house.run("data/read", caller, collection="shop.owned", id=id)
        return listed

    assert await sees(READ) == [1, 2, 4]
    assert await sees(EDIT) == [1, 3, 4]
    assert await sees(FULL) == [1, 4]
    assert await sees(ROOT) == [1, 2, 3, 5]
    with pytest.raises(NotPermitted, match="needs full access"):
        await house.run("data/update", EDIT, collection="shop.owned", id=3, data={"access_deny": ["rob"]})
    with pytest.raises(NotPermitted, match="needs full access"):
        await house.run("data/create", EDIT, collection="shop.owned", data={"t": "x", "access_read": ["eve"]})
    with pytest.raises(NotFound):
        await house.run("data/update", FULL, collection="shop.owned", id=3, data={"t": "x"})
    await house.run("data/update", EDIT, collection="shop.owned", id=3, data={"t": "x"})
    made = await house.run("data/create", FULL, collection="shop.owned", data={"t": "x", "access_read": ["rob"]})
    assert made["access_read"] == '["rob"]'
    assert await sees(READ) == [1, 2, 4, 7]


async def test_databases_belong_to_the_local_tenant(house: DataHouse) -> None:
    for command, params in (
        ("data/list", {}),
        ("data/read", {"id": 1}),
        ("data/count", {}),
        ("data/aggregate", {}),
        ("data/describe", {}),
        ("data/create", {"data": {"item": "x"}}),
        ("data/update", {"id": 1, "data": {"item": "x"}}),
        ("data/delete", {"id": 1}),
    ):
        with pytest.raises(NotFound) as refusal:
            await house.run(command, OTHER, collection="shop.orders", **params)
        assert "keyed" not in refusal.value.message
    with pytest.raises(NotFound, match="there are: house"):
        await house.run("data/query", OTHER, database="shop", sql="SELECT * FROM orders")
    assert "shop" not in str(await house.run("data/describe", OTHER))
    await house.run("data/delete", FULL, collection="shop.orders", id=3)
    with pytest.raises(NotFound, match="nothing to undo"):
        await house.run("undo", OTHER, execution=house.last)


@pytest.mark.parametrize(
    ("database", "error", "says"),
    [
        ("gone", NotFound, "does not exist"),
        ("text", Unreachable, "file is not a database"),
        ("pipe", Unreachable, "not a regular file"),
        ("own", Unreachable, "Doorward's own"),
        ("pg", Unreachable, "not yet supported in this version; use sqlite:///"),
        ("house", Unreachable, "is not 'house'"),
    ],
)
async def test_a_database_that_cannot_be_used_says_why_and_harms_nothing_else(
    house: DataHouse, database: str, error: type[Exception], says: str
) -> None:
    for command, params in (
        ("data/list", {}),
        ("data/create", {"data": {"a": 1}}),
        ("data/delete", {"id": 1}),
    ):
        with pytest.raises(error, match=says) as refusal:
            await house.run(command, collection=f"{database}.t", **params)
        assert "hunter2" not in str(refusal.value)
    assert (await house.run("data/count", collection="shop.orders")) == {"count": 3}
    described = {one["collection"]: one for one in (await house.run("data/describe"))["items"]}
    assert says in described[f"{database}.*"]["error"]
    assert described["shop.orders"]["count"] == 3
    with pytest.raises(NotFound, match=r"shop\.orders.*currently unavailable"):
        await house.run("data/list", collection="nope")


async def test_a_missing_table_names_those_there_are_and_views_are_none(house: DataHouse) -> None:
    for table in ("nope", "v", "sqlite_master", "sqlite_schema", ""):
        with pytest.raises(NotFound, match=r"it has: children, keyed, loose"):
            await house.run("data/list", collection=f"shop.{table}")


async def test_a_busy_database_is_told_and_left_alone(house: DataHouse, shop: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("doorward.store.attached_edits.BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(shop, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unreachable, match="locked"):
            await house.run("data/delete", collection="shop.orders", id=1)
        db.execute("ROLLBACK")
    assert len(rows(shop, "orders")) == 3
