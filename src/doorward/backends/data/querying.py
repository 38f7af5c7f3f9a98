"""The command data/query: run a SELECT."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.data.family import catalogue, family
from doorward.command import READS_ONLY, Example
from doorward.facts import Access, Effects, Safety, Tier
from doorward.store import query as sealed
from doorward.store.attached import HOUSE


class Rows(TypedDict):
    items: Annotated[list[dict[str, Any]], Meta(description="The rows, as objects of column and value")]
    columns: list[str]
    more: Annotated[bool, Meta(description="Whether there are more rows than the limit")]


@family.command(
    "query",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=2,
    timeout=30,
    undo=READS_ONLY,
    examples=[
        Example(
            "failed calls of each command",
            {"sql": "SELECT command, count(*) AS n FROM executions WHERE status = ? GROUP BY 1", "params": ["failed"]},
        )
    ],
    related=["data/describe", "data/list", "data/aggregate"],
)
async def query(
    ctx: Context,
    sql: Annotated[str, Meta(description="One SELECT over the collections", min_length=1, max_length=100_000)],
    database: Annotated[
        str,
        Meta(description="house for Doorward's collections, or the name of an attached database", max_length=63),
    ] = HOUSE,
    params: Annotated[
        Annotated[list[str | int | float | bool | None], Meta(max_length=sealed.MOST_PARAMS)] | None,
        Meta(description="The values for the ? placeholders, in order"),
    ] = None,
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None, Meta(description="Maximum number of rows")
    ] = None,
) -> Rows:
    """Run one read-only SELECT over the collections you may read. Each collection is a view with its name.

    Times are seconds since 1970. In managed collections, the column _body holds the whole record. `more` is true when
    rows were left out because of a limit.
    """
    shelf = catalogue(ctx)
    most = min(limit or shelf.settings.query_rows, shelf.settings.query_rows)
    answer = await asyncio.to_thread(sealed.run, shelf, database, sql, params or (), most)
    return {"items": answer.items, "columns": answer.columns, "more": answer.more}
