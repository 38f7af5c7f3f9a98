"""Definitions of managed collections: their names and schemas."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.core.errors import BadParams, Conflict
from doorward.store import managed_collections
from doorward.store.managed_collections import ManagedCollection
from doorward.store.sqlite import Statement

_encode = msgspec.json.Encoder().encode


class CollectionFingerprint(msgspec.Struct, frozen=True):
    """The state of a collection's records when it was checked. Any change to a record changes it."""

    count: int
    versions: int
    newest: float


def take_fingerprint(db: sqlite3.Connection, tenant: str, name: str) -> CollectionFingerprint:
    row = db.execute(
        "SELECT count(*), coalesce(sum(version), 0), coalesce(max(updated_at), 0.0)"
        " FROM records WHERE tenant = ? AND collection = ?",
        (tenant, name),
    ).fetchone()
    return CollectionFingerprint(*row)


def check_records(db: sqlite3.Connection, collection: ManagedCollection) -> CollectionFingerprint:
    """Refuse a definition that existing records do not fit. Returns the state that was checked."""
    db.execute("BEGIN")
    try:
        seen = take_fingerprint(db, collection.tenant, collection.name)
        faults = sum(not collection.fits(record.body) for record in managed_collections.all_records(db, collection))
    finally:
        db.execute("COMMIT")
    if faults:
        raise Conflict(
            f"{faults} of {seen.count} records of {collection.name} do not fit this schema; "
            "widen it, or change those records first."
        )
    return seen


def create(collection: ManagedCollection, at: float) -> Statement:
    return Statement(
        "INSERT INTO collections (tenant, name, schema, version, created_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (collection.tenant, collection.name, _encode(collection.schema).decode(), collection.version, at),
        rows=1,
        otherwise=f"collection {collection.name} already exists",
    )


def replace(collection: ManagedCollection, seen_version: int, seen: CollectionFingerprint) -> Statement:
    """Replace a collection's schema, if neither it nor its records have changed since they were checked."""
    return Statement(
        "UPDATE collections SET schema = ?, version = ? WHERE tenant = ? AND name = ? AND version = ?"
        " AND (SELECT count(*) = ? AND coalesce(sum(version), 0) = ? AND coalesce(max(updated_at), 0.0) = ?"
        " FROM records WHERE tenant = ? AND collection = ?)",
        (
            *(_encode(collection.schema).decode(), collection.version),
            *(collection.tenant, collection.name, seen_version),
            *(seen.count, seen.versions, seen.newest),
            *(collection.tenant, collection.name),
        ),
        rows=1,
        otherwise=f"collection {collection.name} or one of its records changed in the meantime",
    )


def drop(collection: ManagedCollection) -> Statement:
    """Delete an empty collection."""
    return Statement(
        "DELETE FROM collections WHERE tenant = ? AND name = ? AND version = ?"
        " AND NOT EXISTS (SELECT 1 FROM records WHERE tenant = ? AND collection = ?)",
        (*(collection.tenant, collection.name, collection.version), *(collection.tenant, collection.name)),
        rows=1,
        otherwise=f"collection {collection.name} is not empty, or changed in the meantime",
    )


def list_definitions(tenant: str, name: str, schema: Mapping[str, Any], version: int) -> ManagedCollection:
    """A collection from a caller's definition; raises BadParams if it is not valid."""
    if not managed_collections.NAME.fullmatch(name):
        raise BadParams(
            f"A collection's name has 1 to 63 lower-case letters, digits, _ and - and starts with a letter; "
            f"given {name[:80]!r}."
        )
    managed_collections.check_schema(schema)
    return ManagedCollection(tenant, name, schema, version)
