"""Shared parts of the data commands: the family, parameter types, and the caller's collections."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.command import Family
from doorward.store.collection_catalogue import CollectionCatalogue
from doorward.store.scope import Scope

family = Family("data", category="data")

CollectionName = Annotated[
    str,
    Meta(
        description="The collection, such as rooms, a managed one, or database.table; data/describe lists all",
        min_length=1,
        max_length=300,
    ),
]
RecordId = Annotated[
    Annotated[str, Meta(min_length=1, max_length=1_000)] | int,
    Meta(description="The record's id, its key in data/list"),
]
Filter = Annotated[
    dict[str, Any] | None,
    Meta(
        description='A filter, such as {"status": "open", "age": {"$gte": 18}}; operators: $eq $ne $gt $gte $lt '
        "$lte $in $nin $exists $regex $contains $like $ilike $between $null $and $or $not $nor"
    ),
]
OrderBy = Annotated[
    list[str] | str | None,
    Meta(description='Field to sort by, with a leading "-" for descending; several as a list or with commas'),
]
Fields = Annotated[dict[str, Any], Meta(description="The fields of the record and their values")]
"""A record. Its fields depend on the collection, so the type does not list them."""
Limit = Annotated[int, Meta(description="Maximum number of items", ge=1, le=1_000)]


def catalogue(ctx: Context) -> CollectionCatalogue:
    """The collections that the caller can access."""
    house = ctx.services
    return CollectionCatalogue(
        home=house.home,
        house=ctx.store.path,
        settings=house.settings.data,
        scope=Scope.of(ctx.caller),
        secrets={command.name: command.secret for command in house.registry if command.secret},
    )
