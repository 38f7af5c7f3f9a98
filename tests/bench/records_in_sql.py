"""The records of a generated house in a database of SQLite, to work out every answer a second time."""

from __future__ import annotations

import sqlite3
from typing import Any

from bench.houses.query import Filter, Path, Query
from bench.houses.world import Table, World

_OPERATORS = {"within": "?", "is": "= ?", "above": "> ?", "below": "< ?", "missing": "IS NULL", "untrue": "IS NOT 1"}


class RecordsInSql:
    """Holds the records as they are stored, and answers queries with one SELECT each."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._db = sqlite3.connect(":memory:")
        for table in world.tables.values():
            columns = [f'"{name}"' for name in table.named.values()]
            self._db.execute(f'CREATE TABLE "{table.name}" (record_id, {", ".join(columns)})')
            places = ", ".join("?" * (len(columns) + 1))
            for row in table.rows:
                body = world.body(table, row)
                values = [row["id"], *(body.get(name) for name in table.named.values())]
                self._db.execute(f'INSERT INTO "{table.name}" VALUES ({places})', values)

    def answer(self, query: Query) -> Any:
        table = self._world.tables[query.table]
        joins: list[str] = []
        of = self._column(table, query.of or ((table.label,) if table.label else ("id",)), joins)
        conditions, given = [], []
        for one in query.filters:
            conditions.append(self._condition(table, one, joins))
            given += one.value if one.op == "within" else [one.value] if "?" in _OPERATORS[one.op] else []
        by = self._column(table, query.by, joins) if query.by else ""
        if by:
            conditions.append(f"{by} IS NOT NULL")
        summed = self._column(table, query.summed, joins) if query.summed else ""
        ending = f"{' WHERE ' + ' AND '.join(conditions) if conditions else ''}"
        ending += f" ORDER BY {by} {'DESC' if query.descending else ''}" if by else ""
        ending += f" LIMIT {query.limit}" if query.limit else ""
        source = f'FROM "{table.name}" base {" ".join(joins)}{ending}'
        measures = {"count": "count(*)", "sum": f"sum({of})", "average": f"avg({of})", "least": f"min({of})"}
        measures["most"] = f"max({of})"
        if query.measure in measures:
            return self._db.execute(f"SELECT {measures[query.measure]} {source}", given).fetchone()[0]
        if query.measure == "groups":
            figure = f"total({summed})" if summed else "count(*)"
            return dict(self._db.execute(f"SELECT {of}, {figure} {source} GROUP BY {of}", given))
        return [row[0] for row in self._db.execute(f"SELECT {of} {source}", given) if row[0] is not None]

    def _column(self, table: Table, path: Path, joins: list[str]) -> str:
        alias = "base"
        for place, role in enumerate(path):
            if role == "id":
                return f"{alias}.record_id"
            column = f'{alias}."{table.named[role]}"'
            if table.fields[role].kind != "link":
                return column
            table, alias = self._world.tables[table.fields[role].to], f"{alias}_{role}"
            label = f'{alias}."{table.named[table.label]}"'
            key = label if self._world.style.linked_by_name else f"{alias}.record_id"
            join = f'JOIN "{table.name}" {alias} ON {column} = {key}'
            if join not in joins:
                joins.append(join)
            if place == len(path) - 1:
                return label
        raise ValueError(f"The path {path} leads to no column")

    def _condition(self, table: Table, one: Filter, joins: list[str]) -> str:
        column = self._column(table, one.path, joins)
        return f"substr({column}, 1, 10) BETWEEN ? AND ?" if one.op == "within" else f"{column} {_OPERATORS[one.op]}"
