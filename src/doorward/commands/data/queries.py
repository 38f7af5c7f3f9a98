"""Commands data/list, data/read, data/count, data/aggregate, data/describe and data/query."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Annotated, Any, Literal, TypedDict, cast

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.data.family import CollectionName, Fields, Filter, Limit, OrderBy, RecordId, catalogue, family
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, shorten
from doorward.core.errors import NotFound
from doorward.store import collection_queries, paging
from doorward.store import user_query as sealed
from doorward.store.attached_databases import HOUSE
from doorward.store.collections import Collection
from doorward.store.managed_collections import ManagedCollection


class RecordPage(TypedDict):
    items: list[dict[str, Any]]
    cursor: Annotated[str | None, Meta(description="Cursor of the next page; null on the last page")]


class RecordCount(TypedDict):
    count: int


class AggregateGroups(TypedDict):
    items: Annotated[list[dict[str, Any]], Meta(description="The groups, with their fields and metrics")]
    more: Annotated[bool, Meta(description="Whether there are more groups than the limit")]


class CollectionDescription(TypedDict, total=False):
    """One collection or, if none was named, all collections in `items`."""

    items: list[dict[str, Any]]
    collection: str
    kind: Literal["system", "managed", "attached"]
    key: Annotated[str, Meta(description="The field that identifies a record")]
    fields: Annotated[dict[str, str], Meta(description="The type of each field")]
    count: int
    schema: dict[str, Any]


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=15,
    undo=READS_ONLY,
    examples=[
        Example("which rooms are there", {"collection": "rooms"}),
        Example("rooms whose name contains gen", {"collection": "rooms", "filter": {"name": {"$contains": "gen"}}}),
        Example("the newest five executions", {"collection": "executions", "orderBy": "-at", "limit": 5}),
    ],
    related=["data/describe", "data/read", "data/count", "data/query"],
)
async def list_records(
    ctx: Context,
    collection: CollectionName,
    filter: Filter = None,
    order_by: OrderBy = None,
    limit: Limit = 50,
    cursor: Annotated[
        Annotated[str, Meta(max_length=paging.MAX_CURSOR)] | None,
        Meta(description="Cursor returned by the previous page"),
    ] = None,
    fields: Annotated[list[str] | None, Meta(description="Only these fields, such as ['id', 'name']")] = None,
) -> RecordPage:
    """List records of a collection, filtered, sorted and in pages.

    A missing or null field equals only null: $ne and $nin match it, comparisons do not. Compare times with ISO texts
    or seconds. When there are more records, the result has a cursor for the next page.
    """
    shelf = catalogue(ctx)

    def work(db: sqlite3.Connection, found: Collection) -> collection_queries.Page:
        return collection_queries.page(
            db,
            found,
            shelf.scope,
            where=filter,
            order_by=order_by,
            limit=limit,
            cursor=cursor or "",
            fields=fields or (),
            most_bytes=shelf.settings.query_bytes,
        )

    page = await shelf.read(collection, work)
    return {"items": page.items, "cursor": page.cursor}


@family.command(
    "read",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=15,
    undo=READS_ONLY,
    examples=[Example("show the room general", {"collection": "rooms", "id": "general"})],
    related=["data/list"],
)
async def read(ctx: Context, collection: CollectionName, id: RecordId) -> Fields:
    """Read one record of a collection by its id."""
    shelf = catalogue(ctx)
    record = await shelf.read(collection, lambda db, found: collection_queries.one(db, found, shelf.scope, id))
    if record is None:
        raise NotFound(f"There is no record {shorten(id)} in {collection}.")
    return record


@family.command(
    "count",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=15,
    undo=READS_ONLY,
    examples=[Example("how many calls failed", {"collection": "executions", "filter": {"status": "failed"}})],
    related=["data/list", "data/aggregate"],
)
async def count(ctx: Context, collection: CollectionName, filter: Filter = None) -> RecordCount:
    """Count the records of a collection that match a filter."""
    shelf = catalogue(ctx)
    return {
        "count": await shelf.read(
            collection, lambda db, found: collection_queries.count(db, found, shelf.scope, filter)
        )
    }


@family.command(
    "aggregate",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=15,
    undo=READS_ONLY,
    examples=[
        Example("how many calls of each command", {"collection": "executions", "groupBy": ["command"]}),
        Example(
            "how long commands take",
            {
                "collection": "executions",
                "groupBy": ["command"],
                "metrics": {"calls": {"count": "*"}, "mean": {"avg": "durationMs"}},
                "orderBy": "-mean",
            },
        ),
    ],
    related=["data/count", "data/query"],
)
async def aggregate(
    ctx: Context,
    collection: CollectionName,
    group_by: Annotated[list[str] | None, Meta(description="The fields to group by; one group if omitted")] = None,
    metrics: Annotated[
        dict[str, dict[str, str]] | None,
        Meta(description='Metrics by name, such as {"total": {"sum": "amount"}}; functions: count, sum, avg, min, max'),
    ] = None,
    filter: Filter = None,
    order_by: OrderBy = None,
    limit: Limit = 50,
) -> AggregateGroups:
    """Group the records of a collection and count, sum or average them.

    Sums and averages use numbers only; min and max use numbers and texts. Other values are ignored.
    """
    shelf = catalogue(ctx)

    def work(db: sqlite3.Connection, found: Collection) -> tuple[list[dict[str, Any]], bool]:
        return collection_queries.aggregate(
            db,
            found,
            shelf.scope,
            group_by=group_by or (),
            metrics={"count": {"count": "*"}} if metrics is None else metrics,
            where=filter,
            order_by=order_by,
            limit=limit,
        )

    items, more = await shelf.read(collection, work)
    return {"items": items, "more": more}


@family.command(
    "describe",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=30,
    undo=READS_ONLY,
    examples=[
        Example("what data is there", {}),
        Example("which fields executions have", {"collection": "executions"}),
    ],
    related=["data/list", "data/query"],
)
async def describe(
    ctx: Context,
    collection: Annotated[
        Annotated[str, Meta(max_length=300)] | None,
        Meta(description="The collection to describe; all collections if omitted"),
    ] = None,
) -> CollectionDescription:
    """Describe a collection, or list all collections, with kind, key, fields and number of records."""
    shelf = catalogue(ctx)
    if not collection:
        return {"items": await shelf.describe_all()}

    def work(db: sqlite3.Connection, found: Collection) -> CollectionDescription:
        described = cast("CollectionDescription", shelf.describe(db, found))
        if isinstance(found, ManagedCollection):
            described["schema"] = dict(found.schema)
        return described

    return await shelf.read(collection, work)


class QueryRows(TypedDict):
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
) -> QueryRows:
    """Run one read-only SELECT over the collections you may read. Each collection is a view with its name.

    Times are seconds since 1970. In managed collections, the column _body holds the whole record. `more` is true when
    rows were left out because of a limit.
    """
    shelf = catalogue(ctx)
    most = min(limit or shelf.settings.query_rows, shelf.settings.query_rows)
    answer = await asyncio.to_thread(sealed.run, shelf, database, sql, params or (), most)
    return {"items": answer.items, "columns": answer.columns, "more": answer.more}
