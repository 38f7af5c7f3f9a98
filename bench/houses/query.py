"""Questions about records as plain queries, and their answers worked out from the rows that were generated."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Literal, NamedTuple

import msgspec

from bench.houses.world import Row, Table, World

Path = tuple[str, ...]
"""Roles of fields; all but the last are links."""
Measure = Literal["count", "labels", "sum", "average", "least", "most", "values", "groups"]


class Filter(NamedTuple):
    path: Path
    op: Literal["is", "above", "below", "within", "missing", "untrue"]
    value: Any = None
    """For `within`, the first and the last day."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    table: str
    filters: tuple[Filter, ...] = ()
    measure: Measure = "count"
    of: Path = ()
    """What is measured, listed or grouped by; the label when nothing is named."""
    summed: Path = ()
    """What groups add up; they count when nothing is named."""
    by: Path = ()
    """What labels are sorted by."""
    descending: bool = False
    limit: int = 0


def evaluate(world: World, query: Query) -> Any:
    """The true answer."""
    table = world.tables[query.table]
    rows = select(world, query)
    of = query.of or (table.label,)
    match query.measure:
        case "count":
            return len(rows)
        case "labels" | "values":
            found = [reach(world, table, row, of) for row in rows]
            return list(dict.fromkeys(one for one in found if one is not None))
        case "groups":
            return _groups(world, table, rows, query)
    numbers = [one for row in rows if (one := reach(world, table, row, of)) is not None]
    if not numbers:
        return None
    match query.measure:
        case "sum":
            return round(sum(numbers), 2)
        case "average":
            return sum(numbers) / len(numbers)
        case "least":
            return min(numbers)
        case "most":
            return max(numbers)


def select(world: World, query: Query) -> list[Row]:
    """The rows that pass every filter, in their order."""
    table = world.tables[query.table]
    rows = [row for row in table.rows if all(passes(world, table, row, one) for one in query.filters)]
    if query.by:
        rows = [row for row in rows if reach(world, table, row, query.by) is not None]
        rows.sort(key=lambda row: reach(world, table, row, query.by), reverse=query.descending)
    return rows[: query.limit] if query.limit else rows


def passes(world: World, table: Table, row: Row, one: Filter) -> bool:
    found = reach(world, table, row, one.path)
    if one.op == "missing":
        return found is None
    if one.op == "untrue":
        return found is not True
    if found is None:
        return False
    match one.op:
        case "is":
            return bool(found == one.value)
        case "above":
            return bool(found > one.value)
        case "below":
            return bool(found < one.value)
        case "within":
            return bool(one.value[0] <= str(found)[:10] <= one.value[1])


def reach(world: World, table: Table, row: Row, path: Path) -> Any:
    """The value at the end of a path; the label of what a last link leads to."""
    for place, role in enumerate(path):
        value = row[role]
        field = table.fields[role]
        if field.kind != "link":
            return value
        table = world.tables[field.to]
        row = table.by_id(value)
        if place == len(path) - 1:
            return row[table.label]
    raise ValueError(f"The path {path} leads to no value")


def _groups(world: World, table: Table, rows: list[Row], query: Query) -> dict[str, float]:
    if not query.summed:
        return dict(Counter(reach(world, table, row, query.of) for row in rows))
    sums: dict[str, float] = defaultdict(float)
    for row in rows:
        sums[reach(world, table, row, query.of)] += reach(world, table, row, query.summed) or 0
    return {group: round(value, 2) for group, value in sums.items()}
