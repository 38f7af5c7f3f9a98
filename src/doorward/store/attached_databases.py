"""Attached databases: the tables of the user's own SQLite files as collections, for the tenant `local` only."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import msgspec

from doorward.core import strictjson
from doorward.core.command import shorten
from doorward.core.errors import BadParams, NotFound, Unreachable
from doorward.store import acl, sql_functions
from doorward.store.collections import Field, FieldKind, TableCollection
from doorward.store.dialect import Bindings
from doorward.store.read_connections import Source
from doorward.store.scope import ScopeSql, quoted

TENANT = "local"
HOUSE = "house"

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_SQLITE = "sqlite:///"
_ROWIDS = ("rowid", "_rowid_", "oid")


class Column(msgspec.Struct, frozen=True):
    name: str
    declared: str
    generated: bool


class AttachedTable(TableCollection):
    """One table. A record's id is its primary key, or its row id if there is no single key column."""

    kind = "attached"

    def __init__(self, database: str, table: str, columns: Sequence[Column], keys: Sequence[str], rowid: str) -> None:
        self.table = table
        self.stored = tuple(columns)
        self.rowid = rowid
        """The name of the row id in this table; empty if it has none."""
        self.keys = tuple(keys) if len(keys) == 1 or not rowid else (rowid,)
        """The columns that identify a record."""
        fields = [Field(column.name, _kind(column.declared)) for column in columns]
        if rowid and self.keys == (rowid,):
            fields.insert(0, Field(rowid, "number"))
        self._tie_names = [_unused_name(f"tie{n}", fields) for n in range(1 if rowid else len(keys))]
        super().__init__(
            f"{database}.{table}",
            fields,
            key=",".join(self.keys),
            ties=[f"c.{quoted(name)}" for name in self._tie_names],
        )
        self.lists = [name for name in acl.LISTS if any(column.name == name for column in columns)]

    def select(self, names: ScopeSql) -> str:
        ties = [self.rowid] if self.rowid else [quoted(key) for key in self.keys]
        columns = [quoted(field.name) for field in self.fields]
        columns += [f"{tie} AS {quoted(name)}" for tie, name in zip(ties, self._tie_names, strict=True)]
        return f"SELECT {', '.join(columns)} FROM {names.schema}.{quoted(self.table)} WHERE {self._readable(names)}"

    def view(self, names: ScopeSql) -> str:
        columns = ", ".join(quoted(field.name) for field in self.fields)
        return f"SELECT {columns} FROM {names.schema}.{quoted(self.table)} WHERE {self._readable(names)}"

    def _readable(self, names: ScopeSql) -> str:
        if not self.lists:
            return f"{self.rowid or quoted(self.keys[0])} IS NOT NULL"
        lists = ", ".join(quoted(name) if name in self.lists else "NULL" for name in acl.LISTS)
        return f"{sql_functions.LIST_RIGHTS}({lists}, {names.identities}, {names.level}) > 0"

    def found_by(self, id: str | int, bind: Bindings, prefix: str = "") -> str:
        """The condition that selects one record. An id with several key columns is a JSON list."""
        parts: list[object] = [id]
        if len(self.keys) > 1:
            try:
                parts = strictjson.loads(id) if isinstance(id, str) else [id]
            except strictjson.NotJson:
                parts = [id]
            if not isinstance(parts, list) or len(parts) != len(self.keys):
                raise BadParams(
                    f"An id of {self.name} must be a JSON list of {', '.join(self.keys)}; given {shorten(id)}."
                )
        for part in parts:
            if not isinstance(part, str | int | float):
                raise BadParams(f"An id of {self.name} must consist of strings and numbers; given {shorten(id)}.")
        columns = [key if key == self.rowid else quoted(key) for key in self.keys]
        pairs = zip(columns, parts, strict=True)
        return " AND ".join(f"{prefix}{column} = {bind(part)}" for column, part in pairs)


def locate(name: str, url: str, home: Path, house: Path) -> Source:
    """The file of a database in the settings. Relative paths start at the home folder."""
    if not _NAME.fullmatch(name) or name == HOUSE:
        raise Unreachable(
            f"Invalid database name {name!r} in the setting data.databases. A name has letters, digits, _ and -, "
            f"and is not {HOUSE!r}."
        )
    if not url.startswith(_SQLITE):
        scheme = url.partition(":")[0]
        raise Unreachable(
            f"Database {name!r} has a URL of kind {shorten(scheme)}, which is not yet supported in this version;"
            " use sqlite:///path/to/file.db."
        )
    path = home / url.removeprefix(_SQLITE)
    if path.exists() and path.samefile(house):
        raise Unreachable(f"Database {name!r} is Doorward's own; its collections are available without attaching it.")
    return Source(name, path)


def tables(db: sqlite3.Connection, database: str, schema: str = "main") -> dict[str, AttachedTable]:
    """The ordinary tables of an open database by name, without views and virtual tables.

    A view could show rows that their access lists hide.
    """
    names = [
        name
        for _, name, kind, *_ in db.execute(f"PRAGMA {schema}.table_list")
        if kind == "table" and not name.startswith("sqlite_")
    ]
    found = {name: _table(db, database, name, schema) for name in sorted(names)}
    return {name: table for name, table in found.items() if table is not None}


def find(db: sqlite3.Connection, database: str, table: str) -> AttachedTable:
    found = tables(db, database)
    if table not in found:
        raise NotFound(
            f"Database {database!r} has no table {shorten(table)}; it has: {', '.join(list(found)[:30]) or 'none'}."
        )
    return found[table]


def _table(db: sqlite3.Connection, database: str, name: str, schema: str) -> AttachedTable | None:
    rows = db.execute(f"PRAGMA {schema}.table_xinfo({quoted(name)})").fetchall()
    columns = [Column(row[1], row[2], row[6] in (2, 3)) for row in rows if row[6] != 1]
    keys = [row[1] for row in sorted((row for row in rows if row[5]), key=lambda row: int(row[5]))]
    (without,) = next(row[4:5] for row in db.execute(f"PRAGMA {schema}.table_list({quoted(name)})"))
    taken = {column.name.lower() for column in columns}
    rowid = next((one for one in _ROWIDS if one not in taken), "") if not without else ""
    if not rowid and not without:
        return None
    return AttachedTable(database, name, columns, keys, rowid)


def _unused_name(name: str, fields: Sequence[Field]) -> str:
    taken = {field.name.lower() for field in fields}
    while name in taken:
        name += "_"
    return name


def _kind(declared: str) -> FieldKind:
    """The field type for a declared column type, by SQLite's affinity rules. Stored values may differ."""
    upper = declared.upper()
    if "INT" in upper:
        return "number"
    if any(word in upper for word in ("CHAR", "CLOB", "TEXT")):
        return "text"
    if "BLOB" in upper:
        return "bytes"
    return "number" if any(word in upper for word in ("REAL", "FLOA", "DOUB", "NUM", "DEC")) else "any"
