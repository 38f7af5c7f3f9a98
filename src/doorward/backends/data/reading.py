"""data/list, read, count, aggregate and describe."""

from __future__ import annotations

import sqlite3
from typing import Annotated, Any, Literal, TypedDict, cast

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.data.family import CollectionName, Fields, Filter, Limit, OrderBy, RecordId, catalogue, family
from doorward.command import READS_ONLY, Example, shortened
from doorward.errors import NotFound
from doorward.facts import Access, Effects, Safety, Tier
from doorward.store import paging, rows
from doorward.store.collections import Collection
from doorward.store.records import ManagedCollection


class RecordPage(TypedDict):
    items: list[dict[str, Any]]
    cursor: Annotated[str | None, Meta(description="Where the next page begins; null for no more")]


class Count(TypedDict):
    count: int


class Groups(TypedDict):
    items: Annotated[list[dict[str, Any]], Meta(description="The groups: their fields and metrics by name")]
    more: Annotated[bool, Meta(description="Whether groups were left out because of the limit")]


class Description(TypedDict, total=False):
    """One collection or, when none was named, all of them in `items`."""

    items: list[dict[str, Any]]
    collection: str
    kind: Literal["system", "managed", "attached"]
    key: Annotated[str, Meta(description="The field that tells a record from the others")]
    fields: Annotated[dict[str, str], Meta(description="Field to type")]
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
        Meta(description="Where to go on: the cursor of the page before"),
    ] = None,
    fields: Annotated[list[str] | None, Meta(description="Only these fields, such as ['id', 'name']")] = None,
) -> RecordPage:
    """List records of a collection, filtered, ordered and in pages.

    A missing or null field equals only null, so $ne and $nin match it and comparisons do not. Times are compared
    with ISO texts or seconds. When there are more records, the answer has a cursor for the next page.
    """
    shelf = catalogue(ctx)

    def work(db: sqlite3.Connection, found: Collection) -> rows.Page:
        return rows.page(
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
    """Show one record of a collection by its id."""
    shelf = catalogue(ctx)
    record = await shelf.read(collection, lambda db, found: rows.one(db, found, shelf.scope, id))
    if record is None:
        raise NotFound(f"There is no record {shortened(id)} in {collection}.")
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
async def count(ctx: Context, collection: CollectionName, filter: Filter = None) -> Count:
    """Count the records of a collection that a filter lets through."""
    shelf = catalogue(ctx)
    return {"count": await shelf.read(collection, lambda db, found: rows.count(db, found, shelf.scope, filter))}


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
    group_by: Annotated[list[str] | None, Meta(description="The fields that make the groups; none: one group")] = None,
    metrics: Annotated[
        dict[str, dict[str, str]] | None,
        Meta(description='Name to {function: field}: count, sum, avg, min, max, such as {"total": {"sum": "amount"}}'),
    ] = None,
    filter: Filter = None,
    order_by: OrderBy = None,
    limit: Limit = 50,
) -> Groups:
    """Group the records of a collection and count, sum or average them.

    Sums and averages take numbers only, min and max numbers and texts; other values are passed over.
    """
    shelf = catalogue(ctx)

    def work(db: sqlite3.Connection, found: Collection) -> tuple[list[dict[str, Any]], bool]:
        return rows.aggregate(
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
        Meta(description="The collection to describe; without it, all of them"),
    ] = None,
) -> Description:
    """Describe a collection, or list all collections, with kind, key, fields and how many records there are."""
    shelf = catalogue(ctx)
    if not collection:
        return {"items": await shelf.describe_all()}

    def work(db: sqlite3.Connection, found: Collection) -> Description:
        described = cast("Description", shelf.described(db, found))
        if isinstance(found, ManagedCollection):
            described["schema"] = dict(found.schema)
        return described

    return await shelf.read(collection, work)
