"""Managed collections: a tenant's own records, which are JSON objects that fit the collection's schema."""

from __future__ import annotations

import functools
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from doorward.core.command import describe_fault, shorten
from doorward.core.errors import BadParams
from doorward.core.validation import Validator, validator
from doorward.store import acl, sql_functions, values
from doorward.store.collections import Collection, Field, FieldKind, json_path
from doorward.store.dialect import SQLITE, Bindings, Ref
from doorward.store.scope import ScopeSql, literal, quoted
from doorward.store.sqlite import Statement

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
PROPERTY = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
RECORD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")
LARGEST_RECORD = 1_000_000
LARGEST_SCHEMA = 100_000

META = (
    Field("id"),
    Field("version", "number"),
    Field("createdAt", "time"),
    Field("updatedAt", "time"),
    Field("createdBy"),
)
_META_COLUMNS = {"createdAt": "created_at", "updatedAt": "updated_at", "createdBy": "created_by"}
_META_NAMES = frozenset(field.name for field in META)
_COLUMNS = "id, version, created_at, updated_at, created_by, body"

_KINDS: dict[Any, FieldKind] = {"string": "text", "integer": "number", "number": "number", "boolean": "boolean"}

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class ManagedRecord(msgspec.Struct, frozen=True):
    """One stored record; also the content of its before-image."""

    id: str
    version: int
    created_at: float
    updated_at: float
    created_by: str
    body: dict[str, Any]

    def as_result(self) -> dict[str, Any]:
        return {
            "id": self.id,
            **self.body,
            "version": self.version,
            "createdAt": values.render_time(self.created_at),
            "updatedAt": values.render_time(self.updated_at),
            "createdBy": self.created_by,
        }


class ManagedCollection(Collection):
    kind = "managed"

    def __init__(self, tenant: str, name: str, schema: Mapping[str, Any], version: int) -> None:
        properties = schema.get("properties", {})
        own = [Field(key, _kind(spec)) for key, spec in properties.items()]
        first, *others = META
        super().__init__(name, [first, *own, *others], key="id", ties=["c.id"])
        self.tenant = tenant
        self.schema = schema
        self.version = version

    def select(self, names: ScopeSql) -> str:
        rights = f"{sql_functions.BODY_RIGHTS}(body, {names.identities}, {names.level}) > 0"
        return (
            f"SELECT {_COLUMNS} FROM {names.schema}.records"
            f" WHERE tenant = {names.tenant} AND collection = {literal(self.name)}"
            f" AND (instr(body, '\"access_') = 0 OR {rights})"
        )

    def view(self, names: ScopeSql) -> str:
        own = [
            f"json_extract(body, {literal(json_path(name))}) AS {quoted(name)}"
            for name in self.schema.get("properties", {})
        ]
        meta = [f"{column} AS {quoted(name)}" for name, column in _META_COLUMNS.items()]
        shown = ", ".join(["id", *own, "version", *meta, "body AS _body"])
        return f"SELECT {shown} FROM ({self.select(names)}) AS c"

    def columns(self, wanted: Sequence[str]) -> tuple[list[str], Callable[[Sequence[Any]], dict[str, Any]]]:
        return [f"c.{name}" for name in _COLUMNS.split(", ")], lambda row: record_of(row[:6]).as_result()

    def ref(self, field: str, bind: Bindings) -> Ref:
        if field in _META_NAMES:
            return SQLITE.column(f"c.{_META_COLUMNS.get(field, field)}", time=field in ("createdAt", "updatedAt"))
        return SQLITE.inside("c.body", bind(json_path(field)))

    def top(self, field: str) -> str:
        json_path(field)
        return field

    def check(self, body: Mapping[str, Any]) -> None:
        """Refuse a record with reserved names, values that cannot be stored, a schema violation or too many bytes."""
        reserved = sorted(_META_NAMES & body.keys())
        if reserved:
            raise BadParams(
                f"{', '.join(reserved)}: Doorward sets these itself; give only the record's own fields, "
                "and its id as the parameter id."
            )
        values.check_storable(dict(body), "The record")
        acl.check_lists(body)
        own = {key: value for key, value in body.items() if key not in acl.LISTS}
        validator = _validator(_encode(self.schema))
        if not validator.is_valid(own):
            fault = next(validator.iter_errors(own))
            raise BadParams(describe_fault(fault, self.schema, f"The collection {self.name}", "field"))
        if len(_encode(body)) > LARGEST_RECORD:
            raise BadParams(f"The record is too large: at most {LARGEST_RECORD} bytes; given {len(_encode(body))}.")

    def fits(self, body: Mapping[str, Any]) -> bool:
        try:
            self.check(body)
        except BadParams:
            return False
        return True

    def create(self, record: ManagedRecord) -> Statement:
        return Statement(
            f"INSERT INTO records (tenant, collection, {_COLUMNS})"
            f" SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE {_SCHEMA_UNCHANGED}"
            " AND NOT EXISTS (SELECT 1 FROM records WHERE tenant = ? AND collection = ? AND id = ?)",
            (*self._place, *_row(record), *self._place, self.version, *self._place, record.id),
            rows=1,
            otherwise=f"{self.name}/{record.id} already exists, or the schema of {self.name} changed in the meantime",
        )

    def update(self, record: ManagedRecord, seen: int) -> Statement:
        return Statement(
            "UPDATE records SET version = ?, updated_at = ?, body = ?"
            f" WHERE tenant = ? AND collection = ? AND id = ? AND version = ? AND {_SCHEMA_UNCHANGED}",
            (
                *(record.version, record.updated_at, _encode(record.body).decode()),
                *(*self._place, record.id, seen, *self._place, self.version),
            ),
            rows=1,
            otherwise=f"{self.name}/{record.id} or the schema of {self.name} changed in the meantime",
        )

    def delete(self, id: str, seen: int) -> Statement:
        return Statement(
            "DELETE FROM records WHERE tenant = ? AND collection = ? AND id = ? AND version = ?",
            (*self._place, id, seen),
            rows=1,
            otherwise=f"{self.name}/{id} changed in the meantime",
        )

    @property
    def _place(self) -> tuple[str, str]:
        return self.tenant, self.name


_SCHEMA_UNCHANGED = "EXISTS (SELECT 1 FROM collections WHERE tenant = ? AND name = ? AND version = ?)"


def definitions(db: sqlite3.Connection, tenant: str, schema: str = "main") -> list[ManagedCollection]:
    """All managed collections of a tenant, ordered by name."""
    rows = db.execute(
        f"SELECT name, schema, version FROM {schema}.collections WHERE tenant = ? ORDER BY name", (tenant,)
    )
    return [ManagedCollection(tenant, name, _decode(text), version) for name, text, version in rows]


def find(db: sqlite3.Connection, tenant: str, name: str) -> ManagedCollection | None:
    row = db.execute("SELECT schema, version FROM collections WHERE tenant = ? AND name = ?", (tenant, name)).fetchone()
    return ManagedCollection(tenant, name, _decode(row[0]), row[1]) if row else None


def load(db: sqlite3.Connection, collection: ManagedCollection, id: str) -> ManagedRecord | None:
    """One record, without an access check."""
    row = db.execute(
        f"SELECT {_COLUMNS} FROM records WHERE tenant = ? AND collection = ? AND id = ?",
        (collection.tenant, collection.name, id),
    ).fetchone()
    return record_of(row) if row else None


def all_records(db: sqlite3.Connection, collection: ManagedCollection) -> Iterator[ManagedRecord]:
    """All records of a collection, without an access check."""
    found = db.execute(
        f"SELECT {_COLUMNS} FROM records WHERE tenant = ? AND collection = ?", (collection.tenant, collection.name)
    )
    return (record_of(row) for row in found)


def record_of(row: Sequence[Any]) -> ManagedRecord:
    id, version, created_at, updated_at, created_by, body = row
    return ManagedRecord(id, version, created_at, updated_at, created_by, _decode(body))


def check_id(id: str) -> str:
    if not RECORD_ID.fullmatch(id):
        raise BadParams(
            "A record's id has 1 to 128 letters, digits and . _ : @ - and starts with a letter or digit; "
            f"given {shorten(id)}."
        )
    return id


def check_schema(schema: Mapping[str, Any]) -> None:
    """Refuse a schema that is not valid, or whose fields would be ambiguous in a query."""
    values.check_storable(dict(schema), "The schema")
    text = _encode(schema)
    if len(text) > LARGEST_SCHEMA:
        raise BadParams(f"The schema is too large: at most {LARGEST_SCHEMA} bytes; given {len(text)}.")
    try:
        _validator(text)
    except ValueError as error:
        raise BadParams(f"The schema is not a valid JSON Schema (2020-12): {str(error).splitlines()[0]}.") from error
    if schema.get("type", "object") != "object":
        raise BadParams(f"The schema must have type object; given type {shorten(schema['type'])}.")
    taken = {name.lower() for name in (*_META_NAMES, *acl.LISTS)}
    for name in schema.get("properties", {}):
        if not PROPERTY.fullmatch(name) or name.lower() in taken:
            raise BadParams(
                "A property name has 1 to 63 letters, digits and underscores, starts with a letter, is unique ignoring "
                f"case, and is not one of {', '.join((*sorted(_META_NAMES), *acl.LISTS))}; "
                f"given {shorten(name)}."
            )
        taken.add(name.lower())


@functools.lru_cache(maxsize=256)
def _validator(schema: bytes) -> Validator:
    return validator(_decode(schema))


def _row(record: ManagedRecord) -> tuple[Any, ...]:
    *meta, body = msgspec.structs.astuple(record)
    return (*meta, _encode(body).decode())


def _kind(spec: Any) -> FieldKind:
    wanted = spec.get("type") if isinstance(spec, dict) else None
    return _KINDS.get(wanted, "json") if isinstance(wanted, str) else "json"
