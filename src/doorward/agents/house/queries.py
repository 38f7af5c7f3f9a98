"""Questions to several collections at once, as one SELECT. Names come from the house, values are bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorward.agents.house.fields import Table

PERIODS = {"day": "%Y-%m-%d", "week": "%Y-W%W", "month": "%Y-%m", "year": "%Y", "hour": "%Y-%m-%d %H:00"}


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
    parts = [
        f"SELECT {_text(one.name)} AS collection, id, {field} FROM {_name(one.name)} WHERE {field} >= ? AND {field} < ?"  # noqa: S608
        for one in tables
    ]
    sql = " UNION ALL ".join(parts)
    if counted:
        sql = f"SELECT collection, count(*) AS count FROM ({sql}) GROUP BY 1 ORDER BY 2 DESC"  # noqa: S608
    else:
        sql += f" ORDER BY {field} DESC"
    return {"sql": sql, "params": [since, until] * len(parts)}


def by_period(
    table: Table, field: str, period: str, figure: tuple[str, str], span: tuple[float, float] | None
) -> dict[str, Any]:
    """A figure over the records of each period; `figure` is a function and a field, both empty for a count."""
    fn, of = figure
    value, name = (f"{fn}({_name(of)})", f"{fn}_{of}") if fn else ("count(*)", "count")
    where = f" WHERE {_name(field)} >= ? AND {_name(field)} < ?" if span is not None else ""
    sql = (
        f"SELECT strftime('{PERIODS[period]}', {_name(field)}, 'unixepoch') AS {period}, {value} AS {_name(name)} "  # noqa: S608
        f"FROM {_name(table.name)}{where} GROUP BY 1 ORDER BY 1"
    )
    return {"sql": sql, **({"params": list(span)} if span is not None else {})}
