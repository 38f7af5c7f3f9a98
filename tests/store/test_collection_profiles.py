"""Profiles of collections: fields, values, labels and links, from the rows that a caller may see."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from doorward.config.settings import DataSettings
from doorward.core.classification import Access
from doorward.store.collection_catalogue import CollectionCatalogue
from doorward.store.collection_profiles import CollectionProfile, FieldProfile
from doorward.store.profile_reader import ProfileCache, profile_all
from doorward.store.scope import Scope
from doorward.store.sqlite import Store

ADA = Scope("local", frozenset({"ada"}), Access.EDIT)


class Shelf:
    """Collections of one house, written straight into its database."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "doorward.db"
        self.folder = folder
        self.cache = ProfileCache()
        self.databases: dict[str, str] = {}
        self._at = 1.0
        Store(self.path, b"k" * 32).close()

    def fill(self, name: str, /, records: Sequence[Mapping[str, Any]], tenant: str = "local", **kinds: str) -> None:
        schema = {"properties": {field: {"type": kind} for field, kind in kinds.items()}}
        with sqlite3.connect(self.path) as db:
            db.execute("INSERT INTO collections VALUES (?, ?, ?, 1, 1.0)", (tenant, name, json.dumps(schema)))
        for number, record in enumerate(records):
            self.add(name, f"{name[0]}-{number}", record, tenant)

    def add(self, name: str, id: str, record: Mapping[str, Any], tenant: str = "local") -> None:
        self._at += 1
        with sqlite3.connect(self.path) as db:
            db.execute(
                "INSERT INTO records VALUES (?, ?, ?, ?, 1, ?, ?, 'ada')",
                (tenant, name, id, json.dumps(record), self._at, self._at),
            )

    def profiles(self, scope: Scope = ADA) -> dict[str, CollectionProfile]:
        settings = DataSettings(databases=self.databases)
        catalogue = CollectionCatalogue(self.folder, self.path, settings, scope, {})
        return {one.name: one for one in profile_all(catalogue, self.cache, lambda name: True)}

    def field(self, collection: str, name: str, scope: Scope = ADA) -> FieldProfile:
        found = self.profiles(scope)[collection].field(name)
        assert found is not None
        return found


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_a_profile_tells_values_dates_and_extents(shelf: Shelf) -> None:
    shelf.fill(
        "repairs",
        [
            {"bike": "Bike 7", "state": "open", "price": 30, "due": "2026-03-01"},
            {"bike": "Bike 8", "state": "open", "price": 12.5, "due": "2026-01-15", "note": "x" * 200},
            {"bike": "Bike 9", "state": "done", "due": "2026-02-10", "password": "hunter2hunter2"},
        ],
        bike="string",
        state="string",
        price="number",
        due="string",
    )
    profile = shelf.profiles()["repairs"]
    assert (profile.kind, profile.key, profile.label, profile.count) == ("managed", "id", "bike", 3)
    state, price, due = (profile.field(name) for name in ("state", "price", "due"))
    assert state is not None
    assert price is not None
    assert due is not None
    assert (state.values, state.complete, state.dates) == (("open", "done"), True, False)
    assert (price.kind, price.least, price.most, price.missing) == ("number", 12.5, 30, 1)
    assert (due.kind, due.dates, due.least, due.most) == ("text", True, "2026-01-15", "2026-03-01")
    note, password = profile.field("note"), profile.field("password")
    assert note is not None
    assert (note.kind, note.values, note.complete) == ("text", (), False)
    assert password is not None
    assert password.values == ()


def test_links_are_found_by_key_and_by_name(shelf: Shelf) -> None:
    shelf.fill("books", [{"title": title} for title in ("Emma", "Dune", "Ulysses")], title="string")
    shelf.fill("members", [{"name": name} for name in ("Ann Lee", "Bo Ray", "Cy Fox")], name="string")
    shelf.fill("genres", [{"mood": "open"}, {"mood": "open"}, {"mood": "done"}], mood="string")
    loans = [
        {"item": "b-0", "borrower": "Bo Ray", "state": "open"},
        {"item": "b-2", "borrower": "Ann Lee", "state": "done"},
        {"item": "b-2", "borrower": "Bo Ray", "state": "open"},
    ]
    shelf.fill("loans", loans, item="string", borrower="string", state="string")
    item, borrower, state = (shelf.field("loans", name) for name in ("item", "borrower", "state"))
    assert (item.links, item.links_by) == ("books", "id")
    assert (borrower.links, borrower.links_by) == ("members", "name")
    assert state.links == ""
    assert shelf.field("books", "title").links == ""


def test_a_number_is_a_link_only_if_its_name_fits(shelf: Shelf, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as db:
        db.execute("CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT)")
        db.execute("CREATE TABLE sales (id INTEGER PRIMARY KEY, book_id INTEGER, pieces INTEGER)")
        db.executemany("INSERT INTO books VALUES (?, ?)", [(1, "Emma"), (2, "Dune"), (3, "Ulysses")])
        db.executemany("INSERT INTO sales VALUES (?, ?, ?)", [(10, 1, 1), (11, 3, 2), (12, 3, 3)])
    shelf.databases = {"shop": f"sqlite:///{tmp_path}/shop.db"}
    assert shelf.field("shop.sales", "book_id").links == "shop.books"
    assert shelf.field("shop.sales", "pieces").links == ""
    assert shelf.profiles(Scope("other", frozenset({"ada"}), Access.EDIT)).keys().isdisjoint({"shop.sales"})


def test_access_lists_and_tenants_hide_values(shelf: Shelf) -> None:
    shelf.fill("notes", [{"name": "mine"}, {"name": "denied", "access_deny": ["ada"]}], name="string")
    shelf.add("notes", "n-9", {"name": "private", "access_read": ["bob"]})
    shelf.fill("notes", [{"name": "foreign"}], tenant="other", name="string")
    shelf.fill("secrets", [{"name": "foreign too"}], tenant="other", name="string")
    profiles = shelf.profiles()
    name = profiles["notes"].field("name")
    assert name is not None
    assert name.values == ("mine",)
    assert profiles["notes"].count == 1
    assert "secrets" not in profiles
    assert not any(field.name.startswith("access_") for one in profiles.values() for field in one.fields)
    bob = Scope("local", frozenset({"bob"}), Access.EDIT)
    assert set(shelf.field("notes", "name", bob).values) == {"mine", "denied", "private"}
    assert shelf.field("notes", "name").values == ("mine",)


def test_the_cache_follows_every_change(shelf: Shelf) -> None:
    shelf.fill("notes", [{"name": "one"}, {"name": "two"}], name="string")
    assert shelf.field("notes", "name") is shelf.field("notes", "name")
    shelf.add("notes", "n-9", {"name": "three"})
    assert set(shelf.field("notes", "name").values) == {"one", "two", "three"}
    with sqlite3.connect(shelf.path) as db:
        db.execute("UPDATE records SET version = 2, body = ? WHERE id = 'n-9'", (json.dumps({"name": "four"}),))
    assert set(shelf.field("notes", "name").values) == {"one", "two", "four"}
    with sqlite3.connect(shelf.path) as db:
        db.execute("DELETE FROM records WHERE id = 'n-0'")
    assert set(shelf.field("notes", "name").values) == {"two", "four"}


def test_doorwards_own_collections_are_sampled(shelf: Shelf) -> None:
    with sqlite3.connect(shelf.path) as db:
        for name in ("Ann", "Bo"):
            db.execute("INSERT INTO users VALUES ('local', ?, ?, 'human', 4, 1, 1.0)", (name.lower(), name))
        db.execute("INSERT INTO users VALUES ('other', 'eve', 'Eve', 'human', 4, 1, 1.0)")
    shelf.fill("tasks", [{"owner": "ann"}, {"owner": "bo"}, {"owner": "bo"}], owner="string")
    assert shelf.field("users", "name").values == ("Bo", "Ann")
    assert shelf.field("tasks", "owner").links == "users"
    assert {"at", "status", "command"} <= {field.name for field in shelf.profiles()["executions"].fields}


def test_a_hundred_wide_collections_are_profiled_quickly(shelf: Shelf) -> None:
    body = json.dumps({f"field{n}": f"value {n % 7} of it" for n in range(50)})
    schema = json.dumps({"properties": {f"field{n}": {"type": "string"} for n in range(50)}})
    with sqlite3.connect(shelf.path) as db:
        for number in range(100):
            db.execute("INSERT INTO collections VALUES ('local', ?, ?, 1, 1.0)", (f"wide{number}", schema))
            db.executemany(
                "INSERT INTO records VALUES ('local', ?, ?, ?, 1, 1.0, 1.0, 'ada')",
                [(f"wide{number}", f"w-{number}-{row}", body) for row in range(50)],
            )
    began = time.process_time()
    profiles = shelf.profiles()
    assert time.process_time() - began < 3.0  # the target is 1 s; a busy machine takes longer
    assert len(profiles) >= 100
    assert len(profiles["wide99"].fields) == 55
