"""What all data commands share: the family, the way they name things, and the collections a caller has."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from doorward.backends.context import Context
from doorward.command import Family
from doorward.store.catalogue import Catalogue
from doorward.store.scope import Scope

family = Family("data", category="data")

CollectionName = Annotated[
    str,
    Meta(
        description="The collection, such as rooms, a managed one, or database.table; data/describe lists them all",
        min_length=1,
        max_length=300,
    ),
]
RecordId = Annotated[
    Annotated[str, Meta(min_length=1, max_length=1_000)] | int,
    Meta(description="The record's id: its key as data/list shows it"),
]
Filter = Annotated[
    dict[str, Any] | None,
    Meta(
        description='Which records, such as {"status": "open", "age": {"$gte": 18}}; operators: $eq $ne $gt $gte $lt '
        "$lte $in $nin $exists $regex $contains $like $ilike $between $null $and $or $not $nor"
    ),
]
OrderBy = Annotated[
    list[str] | str | None,
    Meta(description='Field to order by, "-" in front for descending; several as a list or with commas'),
]
Fields = Annotated[dict[str, Any], Meta(description="The record: its fields and their values")]
"""What a record looks like is for its collection to say, so here is nothing but that it has fields."""
Limit = Annotated[int, Meta(description="The most items to give", ge=1, le=1_000)]


def catalogue(ctx: Context) -> Catalogue:
    """The collections that exist for the caller of this call."""
    house = ctx.house
    return Catalogue(
        home=house.home,
        house=ctx.store.path,
        settings=house.settings.data,
        scope=Scope.of(ctx.caller),
        secrets={command.name: command.secret for command in house.registry if command.secret},
    )
