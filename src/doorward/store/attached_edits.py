"""Edits of one row in an attached database, in one transaction. The before-image is stored before the commit."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import msgspec

from doorward.core.classification import Access
from doorward.core.command import shorten
from doorward.core.errors import BadParams, Conflict, DoorwardError, NotFound
from doorward.store import acl, attached_databases, sql_functions, values
from doorward.store.attached_databases import AttachedTable
from doorward.store.dialect import Bindings
from doorward.store.read_connections import Source, describe_error
from doorward.store.scope import Scope, quoted

BUSY_SECONDS = 5.0
GONE = "gone"

Row = dict[str, Any]
"""A row by column name, with its row id under the table's own name for it."""

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode

_TAKEN = (
    sqlite3.SQLITE_CONSTRAINT_UNIQUE,
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
    sqlite3.SQLITE_CONSTRAINT_ROWID,
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY,
)


class AttachedEdit(msgspec.Struct, frozen=True):
    """A row before and after an edit; None if the row does not exist."""

    id: str
    before: Row | None
    after: Row | None

    @property
    def image(self) -> bytes | None:
        return None if self.before is None else _encode(_encode_row(self.before))

    @property
    def mark(self) -> str:
        return fingerprint(self.after)


Keep = Callable[[AttachedEdit], None]
"""Stores the before-image. If it raises, nothing is changed."""


class Editor:
    """One table inside one open transaction."""

    def __init__(self, db: sqlite3.Connection, table: AttachedTable, scope: Scope) -> None:
        self._db = db
        self.table = table
        self._scope = scope
        self._name = f"main.{quoted(table.table)}"

    def create(self, id: str | int | None, data: Mapping[str, Any]) -> AttachedEdit:
        cells = self._cells(data)
        if id is not None:
            if len(self.table.keys) != 1:
                raise BadParams(f"{self.table.name} has no single id column; give {self.table.key} as fields.")
            cells[self.table.keys[0]] = id
        if self._lists(cells) != {}:
            _need_full(self._scope)
        row = self._insert(cells)
        return AttachedEdit(self._id(row), None, row)

    def update(self, id: str | int, data: Mapping[str, Any]) -> AttachedEdit:
        cells = self._cells(data)
        before = self._visible(id)
        acl.require(self._scope, self._lists(before), Access.EDIT, f"{self.table.name}/{id}")
        moved = [key for key in self.table.keys if key in cells and cells[key] != before[key]]
        if moved:
            raise BadParams(f"{', '.join(moved)} identifies the record and cannot be changed; create a new record.")
        if acl.changes_lists(self._lists(before), self._lists({**before, **cells})):
            acl.require(self._scope, self._lists(before), Access.FULL, f"the access lists of {self.table.name}/{id}")
        return AttachedEdit(str(id), before, self._set(id, before, cells))

    def delete(self, id: str | int) -> AttachedEdit:
        before = self._visible(id)
        acl.require(self._scope, self._lists(before), Access.FULL, f"{self.table.name}/{id}")
        self._delete(id)
        return AttachedEdit(str(id), before, None)

    def restore(self, id: str, image: bytes | None, mark: str) -> AttachedEdit:
        """Restore a row to its before-image, if it still has the state the mark describes."""
        now = self._row(id)
        if fingerprint(now) != mark:
            raise Conflict(f"{self.table.name}/{id} has changed since; nothing was undone.")
        wanted = None if image is None else _decode_row(_decode(image))
        as_is, again = (None if row is None else self._lists(row) for row in (now, wanted))
        acl.require_restoring(self._scope, as_is, again, f"{self.table.name}/{id}")
        if now is not None and wanted is None:
            self._delete(id)
            return AttachedEdit(id, now, None)
        if now is None and wanted is not None:
            return AttachedEdit(id, None, self._insert(self._stored(wanted)))
        if now is None or wanted is None:
            raise Conflict(f"{self.table.name}/{id} no longer exists; nothing was undone.")
        return AttachedEdit(id, now, self._set(id, now, self._stored(wanted)))

    def _cells(self, data: Mapping[str, Any]) -> Row:
        writable = [column.name for column in self.table.stored if not column.generated]
        for name in data:
            if name not in writable:
                raise BadParams(
                    f"{self.table.name} has no writable field {shorten(name)}; it has: {', '.join(writable)}."
                )
        acl.check_lists({name: data[name] for name in self.table.lists if name in data})
        return {name: values.column(value, name) for name, value in data.items()}

    def _visible(self, id: str | int) -> Row:
        row = self._row(id)
        if row is None or not acl.rights(self._lists(row), self._scope.identities, self._scope.level):
            raise NotFound(f"There is no record {shorten(id)} in {self.table.name}.")
        return row

    def _row(self, id: str | int) -> Row | None:
        bind = Bindings({})
        condition = self.table.found_by(id, bind)
        return self._select(condition, bind.values)

    def _select(self, condition: str, bound: Mapping[str, Any]) -> Row | None:
        names = [field.name for field in self.table.fields]
        if self.table.rowid and self.table.rowid not in names:
            names.append(self.table.rowid)
        columns = ", ".join(map(quoted, names))
        row = self._db.execute(f"SELECT {columns} FROM {self._name} WHERE {condition}", bound).fetchone()
        return dict(zip(names, row, strict=True)) if row else None

    def _insert(self, cells: Row) -> Row:
        bind = Bindings({})
        marks = ", ".join(map(bind, cells.values()))
        what = f"({', '.join(map(quoted, cells))}) VALUES ({marks})" if cells else "DEFAULT VALUES"
        keys = [self.table.rowid] if self.table.rowid else list(self.table.keys)
        found = self._db.execute(
            f"INSERT INTO {self._name} {what} RETURNING {', '.join(map(quoted, keys))}", bind.values
        ).fetchall()
        bound = Bindings({})
        row = self._select(
            " AND ".join(f"{quoted(key)} IS {bound(value)}" for key, value in zip(keys, found[0], strict=True)),
            bound.values,
        )
        if row is None:
            raise Conflict(f"A trigger of {self.table.name} removed the new record again; nothing was changed.")
        return row

    def _set(self, id: str | int, before: Row, cells: Row) -> Row | None:
        changed = {name: value for name, value in cells.items() if value != before.get(name)}
        if not changed:
            return before
        bind = Bindings({})
        assigned = ", ".join(f"{quoted(name)} = {bind(value)}" for name, value in changed.items())
        self._db.execute(f"UPDATE {self._name} SET {assigned} WHERE {self.table.found_by(id, bind)}", bind.values)
        return self._row(id)

    def _delete(self, id: str | int) -> None:
        bind = Bindings({})
        self._db.execute(f"DELETE FROM {self._name} WHERE {self.table.found_by(id, bind)}", bind.values)

    def _stored(self, row: Row) -> Row:
        """The columns of a stored row that can be written: all but generated ones."""
        computed = {column.name for column in self.table.stored if column.generated}
        known = {column.name for column in self.table.stored} | {self.table.rowid}
        if not row.keys() <= known:
            raise Conflict(f"The columns of {self.table.name} have changed since; nothing was undone.")
        return {name: value for name, value in row.items() if name not in computed}

    def _lists(self, row: Row) -> dict[str, Any]:
        found = sql_functions.column_lists(tuple(row.get(name) for name in acl.LISTS))
        return {name: value for name, value in found.items() if value not in (None, [])}

    def _id(self, row: Row) -> str:
        parts = [row[key] for key in self.table.keys]
        return str(parts[0]) if len(parts) == 1 else _encode(parts).decode()


def edit_row(
    source: Source, table: str, scope: Scope, work: Callable[[Editor], AttachedEdit], keep: Keep | None
) -> AttachedEdit:
    """Edit one row and commit once the before-image is stored. Without `keep` it is a dry run. Blocks."""
    with _transaction(source) as db:
        editor = Editor(db, attached_databases.find(db, source.name, table), scope)
        done = work(editor)
        if keep is not None:
            keep(done)
            db.execute("COMMIT")
        return done


@contextmanager
def _transaction(source: Source) -> Iterator[sqlite3.Connection]:
    try:
        uri = source.uri("rw")
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)) as db:
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise _explain_error(error, source) from error


def _explain_error(error: sqlite3.Error, source: Source) -> DoorwardError:
    if isinstance(error, sqlite3.IntegrityError):
        kind = Conflict if getattr(error, "sqlite_errorcode", 0) in _TAKEN else BadParams
        return kind(f"Nothing was changed: database {source.name!r} refused the edit: {error}.")
    return describe_error(error, source, BUSY_SECONDS)


def fingerprint(row: Row | None) -> str:
    """A hash of a row that changes when any column changes."""
    return GONE if row is None else hashlib.sha256(_encode(_encode_row(row))).hexdigest()


def render_row(table: AttachedTable, row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {field.name: values.render_value(row[field.name]) for field in table.fields}


def _need_full(scope: Scope) -> None:
    acl.require(scope, {}, Access.FULL, "access lists")


def _encode_row(row: Row) -> dict[str, Any]:
    return {name: _tag(value) for name, value in row.items()}


def _tag(value: Any) -> Any:
    if isinstance(value, float):
        return {"float": value.hex()}
    return {"bytes": value.hex()} if isinstance(value, bytes) else value


def _decode_row(row: dict[str, Any]) -> Row:
    return {name: _untag(value) for name, value in row.items()}


def _untag(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return float.fromhex(value["float"]) if "float" in value else bytes.fromhex(value["bytes"])
