"""The base class of collections: named fields, and a SELECT of the rows a caller may see."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from doorward.core.command import shorten
from doorward.core.errors import BadParams
from doorward.store import values
from doorward.store.dialect import SQLITE, Bindings, Ref
from doorward.store.scope import Scope, ScopeSql, quoted

FieldKind = Literal["text", "number", "boolean", "time", "json", "bytes", "any"]

MAX_PATH = 500

Where = Mapping[str, Any] | None
OrderBy = str | Sequence[str] | None

_decode = msgspec.json.Decoder().decode


class Field(msgspec.Struct, frozen=True):
    name: str
    kind: FieldKind = "text"


class Collection(ABC):
    """Rows with the same fields. In the generated SQL their alias is `c`."""

    kind: Literal["system", "managed", "attached"]

    def __init__(self, name: str, fields: Sequence[Field], *, key: str, ties: Sequence[str]) -> None:
        self.name = name
        self.fields = tuple(fields)
        self.key = key
        """The field whose value `data/read` takes as id."""
        self.ties = tuple(ties)
        """Expressions that together are unique for every row and never null."""
        self._by_name = {field.name: field for field in self.fields}

    @abstractmethod
    def select(self, names: ScopeSql) -> str:
        """A SELECT of exactly the rows visible in a scope, with every column that refs and ties use."""

    @abstractmethod
    def view(self, names: ScopeSql) -> str:
        """The same rows for a caller's own SQL, with one column per field."""

    @abstractmethod
    def columns(self, wanted: Sequence[str]) -> tuple[list[str], Callable[[Sequence[Any]], dict[str, Any]]]:
        """The columns to select for these top-level fields (none means all), and a function from row to record."""

    def scan_conditions(self, db: sqlite3.Connection, scope: Scope, where: Where, order_by: OrderBy) -> Iterator[str]:
        """Conditions that together cover every row. A page is read under one after the other, in this order.

        A collection that knows where matching rows are overrides this, so that rare rows are found without a full scan.
        """
        yield "TRUE"

    def ref(self, field: str, bind: Bindings) -> Ref:
        known = self._by_name.get(field)
        if known is not None:
            return _column_ref(known)
        head, _, rest = field.partition(".")
        document = self._by_name.get(head)
        if document is not None and document.kind == "json" and rest:
            return SQLITE.inside(f"c.{quoted(head)}", bind(json_path(rest)))
        raise self.unknown(field)

    def top(self, field: str) -> str:
        """The top-level field that contains a field."""
        if field in self._by_name:
            return field
        head = field.partition(".")[0]
        if head in self._by_name and self._by_name[head].kind == "json":
            return head
        raise self.unknown(field)

    def unknown(self, field: str) -> BadParams:
        names = ", ".join(one.name for one in self.fields)
        return BadParams(f"{self.name} has no field {shorten(field)}; it has: {names}.")


class TableCollection(Collection):
    """A collection whose fields are columns."""

    def columns(self, wanted: Sequence[str]) -> tuple[list[str], Callable[[Sequence[Any]], dict[str, Any]]]:
        fields = [self._by_name[name] for name in dict.fromkeys(wanted)] or list(self.fields)

        def record(row: Sequence[Any]) -> dict[str, Any]:
            return {field.name: _render_field(field, value) for field, value in zip(fields, row, strict=False)}

        return [f"c.{quoted(field.name)}" for field in fields], record


def json_path(dotted: str) -> str:
    """`a.b` as a path into a JSON document. Always bind it; never put it into SQL text."""
    steps = dotted.split(".")
    if len(dotted) > MAX_PATH or not all(steps) or any(letter < " " or letter in '"\\' for letter in dotted):
        raise BadParams(
            f"A field name consists of words separated by dots, such as address.city, without quotes, "
            f"backslashes or control characters; given {shorten(dotted)}."
        )
    values.scalar(dotted, "A field name")
    return "$" + "".join(f'."{step}"' for step in steps)


def pick(record: dict[str, Any], field: str) -> Any:
    """A field of a record or of a nested object; None if it is missing."""
    if field in record:
        return record[field]
    found: Any = record
    for step in field.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _column_ref(field: Field) -> Ref:
    name = f"c.{quoted(field.name)}"
    if field.kind == "json":
        return SQLITE.inside(name, "'$'")
    if field.kind == "boolean":
        return SQLITE.boolean_column(name)
    return SQLITE.column(name, time=field.kind == "time")


def _render_field(field: Field, value: Any) -> Any:
    if value is None:
        return None
    if field.kind == "boolean":
        return bool(value)
    if field.kind == "time":
        return values.render_time(value)
    return _decode(value) if field.kind == "json" else values.render_value(value)
