"""The one call that gives what is wanted of records."""

from __future__ import annotations

from typing import Any

from doorward.agents.house import queries, smalltalk
from doorward.agents.house.fields import Table
from doorward.agents.house.plan import Around, NotOffered, Step, Unknown
from doorward.agents.house.wanted import Shape


def call(around: Around, table: Table, wanted: Shape, where: dict[str, Any]) -> Step:
    """The one call that gives it."""
    base: dict[str, Any] = {"collection": table.name}
    if where:
        base["filter"] = where
    if wanted.group and wanted.period:
        return _by_period(around, table, wanted, where)
    if (wanted.group or wanted.measure) and "data/aggregate" in around.tools:
        params = dict(base)
        if wanted.group:
            params["groupBy"] = [wanted.group, *wanted.also_by]
        name = f"{wanted.measure}_{wanted.field}" if wanted.measure else "count"
        if wanted.measure:
            params["metrics"] = {name: {wanted.measure: wanted.field}, "count": {"count": "*"}}
        if wanted.order:
            down = "-" if wanted.order.startswith("-") else ""
            own = wanted.order.lstrip("-") == wanted.group
            params["orderBy"] = wanted.order if own else f"{down}{name}"
        if wanted.limit and wanted.group:
            params["limit"] = wanted.limit
        elif wanted.also_by:
            params["limit"] = 1_000
        return Step("data/aggregate", params)
    if wanted.group or wanted.measure:
        raise NotOffered("data/aggregate")  # a list or a number of all would answer another question
    small = table.kind == "system" and table.name in ("rooms", "users", "recipes", "servers") and not where
    if wanted.count and not (small and "data/list" in around.tools) and "data/count" in around.tools:
        return Step("data/count", base)
    if "data/list" in around.tools:
        if wanted.order:
            base["orderBy"] = wanted.order
        wanted.chosen = wanted.chosen or not wanted.limit
        base["limit"] = wanted.limit or (200 if small else 50)
        return Step("data/list", base)
    if "data/count" in around.tools and wanted.count:
        return Step("data/count", base)
    raise NotOffered("data/list")


def _by_period(around: Around, table: Table, wanted: Shape, where: dict[str, Any]) -> Step:
    if "data/query" not in around.tools:
        raise NotOffered("data/query")
    try:
        query = queries.by_period(
            table, wanted.group, wanted.period, wanted.also_by, (wanted.measure, wanted.field), where
        )
    except queries.TooMuch as error:
        raise Unknown(smalltalk.beyond(str(error))) from error
    return Step("data/query", query)
