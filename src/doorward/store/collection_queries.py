"""Reads of collections: pages, single records, counts and aggregates."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.core.command import shorten
from doorward.core.errors import BadParams
from doorward.store import paging, values
from doorward.store.attached_databases import AttachedTable
from doorward.store.collections import Collection, OrderBy, Where, pick
from doorward.store.dialect import SQLITE, Bindings, Ref
from doorward.store.filters import compile_filter
from doorward.store.scope import BOUND, Scope

MAX_GROUPS = 10
MAX_METRICS = 20
MAX_FIELDS = 100
METRICS = ("count", "sum", "avg", "min", "max")


class Page(msgspec.Struct, frozen=True):
    items: list[dict[str, Any]]
    cursor: str | None
    """The start of the next page; None on the last page."""


def page(
    db: sqlite3.Connection,
    collection: Collection,
    scope: Scope,
    *,
    where: Where = None,
    order_by: OrderBy = None,
    limit: int = 50,
    cursor: str = "",
    fields: Sequence[str] = (),
    most_bytes: int = 10_000_000,
) -> Page:
    """The next rows, up to `limit` rows or `most_bytes` bytes, but at least one."""
    bind = Bindings(scope.values())
    condition = compile_filter(where, collection, bind)
    order = paging.keys(order_by, collection, collection.ties, bind)
    mark = paging.fingerprint(collection.name, where, order_by)
    if cursor:
        condition += f" AND {paging.after_sql(order, paging.read_cursor(cursor, mark, len(order)), bind)}"
    if len(fields) > MAX_FIELDS:
        raise BadParams(f"fields takes at most {MAX_FIELDS} names; given {len(fields)}.")
    columns, record = collection.columns([collection.top(field) for field in fields])
    select = f"SELECT {', '.join([*columns, *(key.sql for key in order)])} FROM ({collection.select(BOUND)}) AS c"
    ordered = f"ORDER BY {paging.order_sql(order)} LIMIT {int(limit) + 1}"
    found = (
        row
        for stretch in collection.scan_conditions(db, scope, where, order_by)
        for row in db.execute(f"{select} WHERE {condition} AND {stretch} {ordered}", bind.values)
    )
    items: list[dict[str, Any]] = []
    size = 0
    last: Sequence[Any] = ()
    for row in found:
        size += _size(row)
        if len(items) == limit or (items and size > most_bytes):
            return Page(items, paging.cursor(mark, last))
        whole = record(row)
        items.append({field: pick(whole, field) for field in fields} if fields else whole)
        last = row[len(columns) :]
    return Page(items, None)


def one(db: sqlite3.Connection, collection: Collection, scope: Scope, id: str | int) -> dict[str, Any] | None:
    """The record with this id; None if the caller cannot see one."""
    bind = Bindings(scope.values())
    values.scalar(id, "id")
    if isinstance(collection, AttachedTable):
        condition = collection.found_by(id, bind, "c.")
    else:
        condition = f"{collection.ref(collection.key, bind).value} = {bind(id)}"
    columns, record = collection.columns(())
    newest = ", ".join(f"{tie} DESC" for tie in collection.ties)
    row = db.execute(
        f"SELECT {', '.join(columns)} FROM ({collection.select(BOUND)}) AS c"
        f" WHERE {condition} ORDER BY {newest} LIMIT 1",
        bind.values,
    ).fetchone()
    return record(row) if row else None


def count(db: sqlite3.Connection, collection: Collection, scope: Scope, where: Where = None) -> int:
    bind = Bindings(scope.values())
    condition = compile_filter(where, collection, bind)
    (number,) = db.execute(
        f"SELECT count(*) FROM ({collection.select(BOUND)}) AS c WHERE {condition}", bind.values
    ).fetchone()
    return int(number)


def aggregate(
    db: sqlite3.Connection,
    collection: Collection,
    scope: Scope,
    *,
    group_by: Sequence[str],
    metrics: Mapping[str, Mapping[str, str]],
    where: Where = None,
    order_by: OrderBy = None,
    limit: int = 50,
) -> tuple[list[dict[str, Any]], bool]:
    """One row per group with its metrics, and whether there are more groups."""
    if len(group_by) > MAX_GROUPS or len(metrics) > MAX_METRICS:
        raise BadParams(f"An aggregate has at most {MAX_GROUPS} groupBy fields and {MAX_METRICS} metrics.")
    twice = (set(group_by) & metrics.keys()) or len(set(group_by)) != len(group_by)
    if twice:
        raise BadParams("The names in groupBy and metrics must all differ; rename the metrics.")
    bind = Bindings(scope.values())
    groups = [collection.ref(name, bind) for name in group_by]
    measures = [_metric(collection, name, spec, bind) for name, spec in metrics.items()]
    condition = compile_filter(where, collection, bind)
    selected = [sql for ref in groups for sql in (ref.value, SQLITE.kind(ref))] + [sql for sql, _ in measures]
    places = {name: 2 * n + 1 for n, name in enumerate(group_by)}
    places |= {name: 2 * len(groups) + n + 1 for n, name in enumerate(metrics)}
    order = [f"{places[name]} {direction}" for name, direction in _order(order_by, list(places))]
    order += [str(n + 1) for n in range(2 * len(groups))]
    grouped = f" GROUP BY {', '.join(str(n + 1) for n in range(2 * len(groups)))}" if groups else ""
    ordered = f" ORDER BY {', '.join(order)}" if order else ""
    found = db.execute(
        f"SELECT {', '.join(selected)} FROM ({collection.select(BOUND)}) AS c WHERE {condition}"
        f"{grouped}{ordered} LIMIT {int(limit) + 1}",
        bind.values,
    ).fetchall()
    items = [_render_aggregate(row, group_by, groups, list(metrics), measures) for row in found[:limit]]
    return items, len(found) > limit


def _order(order_by: OrderBy, names: Sequence[str]) -> list[tuple[str, str]]:
    asked = paging.order_names(order_by)
    for name, _ in asked:
        if name not in names:
            raise BadParams(f"orderBy takes a column of the aggregate: {', '.join(names)}; given {shorten(name)}.")
    return [(name, "DESC" if descending else "ASC") for name, descending in asked]


def _metric(collection: Collection, name: str, spec: Mapping[str, str], bind: Bindings) -> tuple[str, bool]:
    """A metric as SQL, and whether its value is a time."""
    if not isinstance(spec, Mapping) or len(spec) != 1 or next(iter(spec)) not in METRICS:
        raise BadParams(
            f"Metric {shorten(name)} must be an object with one of {', '.join(METRICS)} and a field, such as "
            f"{{'sum': 'amount'}}; given {shorten(spec)}."
        )
    ((function, field),) = spec.items()
    if not isinstance(field, str):
        raise BadParams(f"Metric {shorten(name)} takes a field name; given {shorten(field)}.")
    if function == "count":
        return ("count(*)" if field == "*" else f"count({collection.ref(field, bind).value})"), False
    ref = collection.ref(field, bind)
    if function in ("min", "max"):
        return f"{function}({SQLITE.comparable(ref)})", ref.time
    return f"{function}({SQLITE.number(ref)})", False


def _render_aggregate(
    row: Sequence[Any],
    group_by: Sequence[str],
    groups: Sequence[Ref],
    metrics: Sequence[str],
    measures: Sequence[tuple[str, bool]],
) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for n, (name, ref) in enumerate(zip(group_by, groups, strict=True)):
        value, kind = row[2 * n], row[2 * n + 1]
        item[name] = values.render_time(value) if ref.time else values.render_type(value, kind)
    for name, value, (_, is_time) in zip(metrics, row[2 * len(groups) :], measures, strict=True):
        item[name] = values.render_time(value) if is_time else values.render_value(value)
    return item


def _size(row: Sequence[Any]) -> int:
    return sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
