"""Questions to several collections at once, as one SELECT. Names come from the house, values are bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from doorward.agents.house.fields import Table

PERIODS = {"day": "%Y-%m-%d", "week": "%Y-W%W", "month": "%Y-%m", "year": "%Y", "hour": "%Y-%m-%d %H:00"}

_COMPARES = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def having_id(tables: Sequence[Table], id: str) -> dict[str, Any]:
    """Which collections have a record of an id."""
    parts = [f"SELECT {_text(one.name)} AS collection, id FROM {_name(one.name)} WHERE id = ?" for one in tables]  # noqa: S608
    return {"sql": " UNION ALL ".join(parts), "params": [id] * len(parts)}


def changed(tables: Sequence[Table], field: str, since: float, until: float, *, counted: bool) -> dict[str, Any]:
    """The records of collections whose time lies in a span, newest first, or how many there are in each."""
    field = _name(field)
    shown = f"strftime('%Y-%m-%dT%H:%M:%SZ', {field}, 'unixepoch') AS {field}"
    parts = [
        f"SELECT {_text(one.name)} AS collection, id, {shown} FROM {_name(one.name)} WHERE {field} >= ? AND {field} < ?"  # noqa: S608
        for one in tables
    ]
    sql = " UNION ALL ".join(parts)
    if counted:
        sql = f"SELECT collection, count(*) AS count FROM ({sql}) GROUP BY 1 ORDER BY 2 DESC"  # noqa: S608
    else:
        sql += f" ORDER BY {field} DESC, collection, id"
    return {"sql": sql, "params": [since, until] * len(parts)}


class TooMuch(Exception):
    """A condition that is not put into a SELECT; the message says which."""


def by_period(
    table: Table,
    field: str,
    period: str,
    also: Sequence[str],
    figure: tuple[str, str],
    where: Mapping[str, Any],
) -> dict[str, Any]:
    """A figure over the records of each period; `figure` is a function and a field, both empty for a count."""
    fn, of = figure
    value, name = (f"{fn}({_name(of)})", f"{fn}_{of}") if fn else ("count(*)", "count")
    epoch = ", 'unixepoch'" if table.fields.get(field) == "time" else ""
    groups = [f"strftime('{PERIODS[period]}', {_name(field)}{epoch}) AS {period}", *(_name(one) for one in also)]
    params: list[Any] = []
    condition = _where(table, where, params)
    sql = (
        f"SELECT {', '.join(groups)}, {value} AS {_name(name)} FROM {_name(table.name)}"  # noqa: S608
        f"{f' WHERE {condition}' if condition else ''}"
        f" GROUP BY {', '.join(str(number + 1) for number in range(len(groups)))} ORDER BY 1"
    )
    return {"sql": sql, **({"params": params} if params else {})}


def _where(table: Table, where: Mapping[str, Any], params: list[Any]) -> str:
    """A filter as a condition of a SELECT; its values are bound in the order in which they stand."""
    parts = []
    for key, wanted in where.items():
        if key in ("$and", "$or") and isinstance(wanted, list):
            link = " AND " if key == "$and" else " OR "
            parts.append(f"({link.join(_where(table, one, params) for one in wanted)})")
        elif key == "$not" and isinstance(wanted, Mapping):
            parts.append(f"NOT coalesce({_where(table, wanted, params)}, 0)")
        elif key in table.fields:
            parts.append(_one(table, key, wanted, params))
        else:
            raise TooMuch(f"I cannot put a condition on {key} together with a period")
    return " AND ".join(parts)


def _one(table: Table, field: str, wanted: Any, params: list[Any]) -> str:
    column = _name(field)
    if wanted is None:
        return f"{column} IS NULL"
    if not isinstance(wanted, Mapping):
        params.append(_bound(table, field, wanted))
        return f"{column} = ?"
    parts = []
    for op, given in wanted.items():
        if op in _COMPARES:
            params.append(_bound(table, field, given))
            parts.append(f"{column} {_COMPARES[op]} ?")
        elif op == "$between":
            params += [_bound(table, field, one) for one in given]
            parts.append(f"{column} BETWEEN ? AND ?")
        elif op in ("$in", "$nin"):
            params += [_bound(table, field, one) for one in given]
            marks = ", ".join("?" for _ in given)
            parts.append(f"{column} IN ({marks})" if op == "$in" else f"coalesce({column} NOT IN ({marks}), 1)")
        elif op == "$ne":
            params.append(_bound(table, field, given))
            parts.append(f"{column} IS NOT ?")
        elif op == "$ilike":
            params.append(given)
            parts.append(f"{column} LIKE ? ESCAPE '\\'")
        else:
            raise TooMuch(f"I cannot put this condition on {field} together with a period")
    return " AND ".join(parts)


def _bound(table: Table, field: str, value: Any) -> Any:
    """A value as a SELECT sees it: times are seconds there."""
    if table.fields.get(field) == "time" and isinstance(value, str):
        return datetime.fromisoformat(value).timestamp()
    return int(value) if isinstance(value, bool) else value
