"""The SQL dialect of SQLite for filters and aggregates. Another database needs another class like this."""

from __future__ import annotations

from typing import Any, NamedTuple

from doorward.store import sql_functions


class Ref(NamedTuple):
    """A field as SQL: its value, its type and, for a field inside a JSON document, the document and path."""

    value: str
    type: str
    """`integer`, `real`, `text`, `blob`, `true`, `false`, `array`, `object`, `null`, or NULL when missing."""
    document: str = ""
    path: str = ""
    time: bool = False
    logical: bool = False
    """Whether true and false are distinct from the numbers 1 and 0."""


class Bindings:
    """The bound values of one statement under generated names. Caller input never becomes SQL text."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.values = dict(scope)

    def __call__(self, value: Any) -> str:
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f":{name}"


class Sqlite:
    def column(self, name: str, *, time: bool = False) -> Ref:
        return Ref(name, f"typeof({name})", time=time)

    def boolean_column(self, name: str) -> Ref:
        kind = f"CASE {name} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
        return Ref(name, kind, logical=True)

    def inside(self, document: str, path: str) -> Ref:
        """The value at a path of a JSON document (both are SQL expressions)."""
        value, kind = f"json_extract({document}, {path})", f"json_type({document}, {path})"
        return Ref(value, kind, document, path, logical=True)

    def exists(self, ref: Ref) -> str:
        return f"{ref.type} IS NOT NULL" if ref.document else f"{ref.value} IS NOT NULL"

    def is_number(self, ref: Ref) -> str:
        return f"{ref.type} IN ('integer', 'real')"

    def is_text(self, ref: Ref) -> str:
        return f"{ref.type} = 'text'"

    def is_boolean(self, ref: Ref, wanted: bool) -> str:
        if ref.logical:
            return f"{ref.type} = '{'true' if wanted else 'false'}'"
        return f"({self.is_number(ref)} AND {ref.value} = {int(wanted)})"

    def matches(self, ref: Ref, pattern: str) -> str:
        return f"({self.is_text(ref)} AND {sql_functions.MATCHES}({pattern}, {ref.value}))"

    def has_text(self, ref: Ref, part: str) -> str:
        return f"({self.is_text(ref)} AND instr({ref.value}, {part}) > 0)"

    def element(self) -> Ref:
        """The list element that `has_element` compares."""
        return Ref("element.value", "element.type", logical=True)

    def has_element(self, ref: Ref, condition: str) -> str:
        return (
            f"({ref.type} = 'array' AND EXISTS "
            f"(SELECT 1 FROM json_each({ref.document}, {ref.path}) AS element WHERE {condition}))"
        )

    def kind(self, ref: Ref) -> str:
        """The type for grouping: all numbers are one type, and missing equals null."""
        return f"CASE WHEN {self.is_number(ref)} THEN 'number' ELSE coalesce({ref.type}, 'null') END"

    def number(self, ref: Ref) -> str:
        return f"CASE WHEN {self.is_number(ref)} THEN {ref.value} END"

    def comparable(self, ref: Ref) -> str:
        return f"CASE WHEN {self.is_number(ref)} OR {self.is_text(ref)} THEN {ref.value} END"


SQLITE = Sqlite()
