"""Commands collection/*: define and drop managed collections, each with a schema for its records."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.data.family import catalogue
from doorward.command import Example, Family, Undo
from doorward.errors import BadParams, Conflict, NotFound
from doorward.facts import Access, Effects, Safety, Tier
from doorward.store import before_images, definitions, records
from doorward.store.before_images import BeforeImage
from doorward.store.definitions import Holding
from doorward.store.records import ManagedCollection
from doorward.store.sqlite import Statement
from doorward.store.system_collections import SYSTEM

family = Family("collection", category="data")

GONE = "gone"

Name = Annotated[str, Meta(description="The collection's name: lower-case letters, digits, _ and -", max_length=63)]
Schema = Annotated[
    dict[str, Any], Meta(description="The JSON Schema (2020-12) of its records, an object with properties")
]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Plan(msgspec.Struct, frozen=True):
    """A collection before and after a change, and the records it held. None means that it does not exist."""

    name: str
    before: ManagedCollection | None
    after: ManagedCollection | None
    seen: Holding


class Defined(TypedDict):
    collection: str
    schema: dict[str, Any]
    records: Annotated[int, Meta(description="The number of its records")]


class Dropped(TypedDict):
    dropped: Annotated[str, Meta(description="The dropped collection")]


@family.command(
    "define",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=30,
    undo=Undo("collection"),
    examples=[
        Example(
            "define a collection of notes",
            {
                "name": "notes",
                "schema": {
                    "type": "object",
                    "properties": {"title": {"type": "string"}, "done": {"type": "boolean"}},
                    "required": ["title"],
                },
            },
        )
    ],
    related=["data/create", "data/describe", "collection/drop"],
    reveals="data/describe",
)
async def define(ctx: Context, name: Name, schema: Schema) -> Defined:
    """Create a collection, or change its schema. All its records must match the new schema."""
    plan = await _defined(ctx, name, schema)
    await _apply(ctx, plan)
    return {"collection": name, "schema": dict(schema), "records": plan.seen.count}


@define.shows_effect
async def define_effect(ctx: Context, name: Name, schema: Schema) -> dict[str, Any]:
    return _effect(await _defined(ctx, name, schema))


@family.command(
    "drop",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE | Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=30,
    undo=Undo("collection"),
    examples=[Example("drop the notes collection", {"name": "notes"})],
    related=["collection/define", "data/delete"],
    reveals="data/describe",
)
async def drop(ctx: Context, name: Name) -> Dropped:
    """Drop an empty collection."""
    plan = await _dropped(ctx, name)
    await _apply(ctx, plan)
    return {"dropped": name}


@drop.shows_effect
async def drop_effect(ctx: Context, name: Name) -> dict[str, Any]:
    return _effect(await _dropped(ctx, name))


@family.undoer("collection")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous definition of a collection, unless it has changed since."""
    (image,) = images
    now, _ = await _look(ctx, image.target)
    if _mark(now) != image.after:
        raise Conflict(f"Collection {image.target} has changed since. Nothing was undone.")
    if image.before is None:
        plan = await _dropped(ctx, image.target)
    else:
        plan = await _defined(ctx, image.target, _decode(image.before))
    await _apply(ctx, plan, before_images.mark_undone(image.call, ctx.call.id))
    return {"collection": image.target, "schema": plan.after.schema if plan.after else None}


async def _defined(ctx: Context, name: str, schema: Mapping[str, Any]) -> Plan:
    if name in SYSTEM:
        raise BadParams(f"{name!r} is a system collection of Doorward. Choose another name.")
    known, seen = await _look(ctx, name)
    wanted = definitions.defined(ctx.caller.tenant, name, schema, known.version + 1 if known else 1)
    if known is not None:
        seen = await catalogue(ctx).in_house(lambda db: definitions.check_records(db, wanted))
    return Plan(name, known, wanted, seen)


async def _dropped(ctx: Context, name: str) -> Plan:
    known, seen = await _look(ctx, name)
    if known is None:
        raise NotFound(f"There is no managed collection {name[:80]!r}. data/describe lists all collections.")
    if seen.count:
        raise Conflict(f"Collection {name} has {seen.count} records. Delete them first.")
    return Plan(name, known, None, seen)


async def _look(ctx: Context, name: str) -> tuple[ManagedCollection | None, Holding]:
    tenant = ctx.caller.tenant

    def look(db: sqlite3.Connection) -> tuple[ManagedCollection | None, Holding]:
        return records.find(db, tenant, name), definitions.holding(db, tenant, name)

    return await catalogue(ctx).in_house(look)


async def _apply(ctx: Context, plan: Plan, *more: Statement) -> None:
    keep = before_images.keep(
        ctx.call,
        kind="collection",
        target=plan.name,
        before=None if plan.before is None else _encode(plan.before.schema),
        after=_mark(plan.after),
        at=ctx.house.clock.now(),
    )
    await ctx.store.write(_statement(ctx, plan), keep, *more)


def _statement(ctx: Context, plan: Plan) -> Statement:
    if plan.after is None:
        if plan.before is None:
            raise Conflict(f"There is no collection {plan.name}. Nothing was changed.")
        return definitions.drop(plan.before)
    if plan.before is None:
        return definitions.create(plan.after, ctx.house.clock.now())
    return definitions.replace(plan.after, plan.before.version, plan.seen)


def _mark(collection: ManagedCollection | None) -> str:
    """A mark of the definition, to detect whether it has changed since an execution."""
    return GONE if collection is None else str(collection.version)


def _effect(plan: Plan) -> dict[str, Any]:
    return {
        "collection": plan.name,
        "before": plan.before.schema if plan.before else None,
        "after": plan.after.schema if plan.after else None,
        "records": plan.seen.count,
    }
