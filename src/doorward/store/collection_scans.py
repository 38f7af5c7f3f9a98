"""Read the rows of collections for their profiles, within limits of rows, bytes and time."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from doorward.store import collection_queries
from doorward.store.acl import LISTS
from doorward.store.collection_links import CollectionScan
from doorward.store.collection_profiles import (
    LONGEST_VALUE,
    MOST_VALUES,
    CollectionProfile,
    Column,
    FieldProfile,
    choose_label,
    is_named_label,
    profile_field,
)
from doorward.store.collections import Collection, Field
from doorward.store.managed_collections import META, ManagedCollection
from doorward.store.scope import BOUND, Scope, quoted

MOST_FIELDS = 100
_MOST_ROWS = 20_000
_MOST_SYSTEM_ROWS = 300
"""Doorward's own collections can be huge, so only their newest rows are read."""
_MOST_BYTES = 20_000_000
_LEAST_VALUES = 20
_NAMED_ROWS = 200
"""Records whose fields are looked at, beside those that the schema names."""
_META_COLUMNS = ("id", "version", "created_at", "updated_at", "created_by")

_decode = msgspec.json.Decoder().decode


def scan_collection(db: sqlite3.Connection, collection: Collection, scope: Scope, budget: int) -> CollectionScan:
    """Read a collection. `budget` is the number of values to keep of it."""
    is_system = collection.kind == "system"
    if isinstance(collection, ManagedCollection):
        columns, rows, is_whole = _read_managed(db, collection, scope)
    else:
        columns, rows, is_whole = _read_table(db, collection, scope, _MOST_SYSTEM_ROWS if is_system else _MOST_ROWS)
    for column in columns:
        column.count_values()
    by_name = {column.name: column for column in columns}
    label = choose_label(collection.name, collection.key, columns)
    if is_system and not is_named_label(collection.name, label):
        label = ""
    named = (collection.key, label)
    share = min(MOST_VALUES, max(_LEAST_VALUES, budget // max(1, len(columns))))
    fields = [
        profile_field(
            column,
            MOST_VALUES if column.name in named else share,
            whole=is_whole,
            values=not is_system or _is_worth_showing(column, is_whole and column.name in named),
        )
        for column in columns
    ]
    known = {field.name for field in fields}
    fields += [_bare_field(field) for field in collection.fields if field.name not in known and _is_shown(field.name)]
    profile = CollectionProfile(
        name=collection.name,
        kind=collection.kind,
        key=collection.key,
        label=label,
        count=rows if is_whole or is_system else collection_queries.count(db, collection, scope),
        more=is_system and not is_whole,
        fields=tuple(fields[:MOST_FIELDS]),
    )
    key, called = by_name.get(collection.key), by_name.get(label)
    return CollectionScan(
        profile=profile,
        keys=frozenset(key.counts) if key is not None and is_whole else frozenset(),
        labels=frozenset(called.counts) if called is not None and is_whole and called.is_unique else frozenset(),
    )


def outline(collection: Collection) -> CollectionScan:
    """The fields of a collection whose rows could not be read in time."""
    fields = tuple(_bare_field(field) for field in collection.fields if _is_shown(field.name))[:MOST_FIELDS]
    name, kind, key = collection.name, collection.kind, collection.key
    return CollectionScan(profile=CollectionProfile(name=name, kind=kind, key=key, count=0, more=True, fields=fields))


def _bare_field(field: Field) -> FieldProfile:
    return FieldProfile(name=field.name, kind=field.kind)


def _is_shown(name: str) -> bool:
    return name not in LISTS


def _is_worth_showing(column: Column, is_named: bool) -> bool:
    """Whether values of one of Doorward's own fields are shown: names of few records, and values that repeat."""
    return is_named or 2 * len(column.counts) <= column.present


def _read_managed(
    db: sqlite3.Connection, collection: ManagedCollection, scope: Scope
) -> tuple[list[Column], int, bool]:
    rows, is_whole = _fetch(
        db, f"SELECT {', '.join(_META_COLUMNS)}, body FROM ({collection.select(BOUND)}) AS c", scope, _MOST_ROWS
    )
    bodies = [_decode(row[-1]) for row in rows]
    own = {field.name: field for field in collection.fields if field not in META}
    used = Counter(name for body in bodies[:_NAMED_ROWS] for name in body)
    for name, _ in used.most_common():
        if name not in own and _is_shown(name):
            own[name] = Field(name, "json")
    first, *others = (Column(field.name, field.kind, [row[at] for row in rows]) for at, field in enumerate(META))
    inner = [
        Column(field.name, field.kind, [body.get(field.name) for body in bodies])
        for field in list(own.values())[: MOST_FIELDS - len(META)]
        if _is_shown(field.name)
    ]
    return [first, *inner, *others], len(rows), is_whole


def _read_table(
    db: sqlite3.Connection, collection: Collection, scope: Scope, most: int
) -> tuple[list[Column], int, bool]:
    fields = [one for one in collection.fields if one.kind not in ("json", "bytes") and _is_shown(one.name)]
    fields = fields[:MOST_FIELDS]
    columns = ", ".join(_column_sql(field) for field in fields) or "NULL"
    newest = ", ".join(f"{tie} DESC" for tie in collection.ties)
    order = f" ORDER BY {newest}" if collection.kind == "system" else ""
    rows, is_whole = _fetch(db, f"SELECT {columns} FROM ({collection.select(BOUND)}) AS c{order}", scope, most)
    return (
        [Column(field.name, field.kind, [row[at] for row in rows]) for at, field in enumerate(fields)],
        len(rows),
        is_whole,
    )


def _column_sql(field: Field) -> str:
    name = f"c.{quoted(field.name)}"
    return f"substr({name}, 1, {LONGEST_VALUE + 1})" if field.kind == "text" else name


def _fetch(db: sqlite3.Connection, sql: str, scope: Scope, most: int) -> tuple[list[Sequence[Any]], bool]:
    """Fetch rows up to the limits; also return whether these are all."""
    rows: list[Sequence[Any]] = []
    size = 0
    for row in db.execute(f"{sql} LIMIT {most + 1}", scope.values()):
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(rows) == most or size > _MOST_BYTES:
            return rows, False
        rows.append(row)
    return rows, True
