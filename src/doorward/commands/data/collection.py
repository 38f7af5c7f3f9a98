"""Commands collection/*: define and drop managed collections, each with a schema for its records."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.data.family import catalogue
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, Undo
from doorward.core.errors import BadParams, Conflict, NotFound
from doorward.store import before_images, managed_collections, managed_definitions
from doorward.store.before_images import BeforeImage
from doorward.store.managed_collections import ManagedCollection
from doorward.store.managed_definitions import CollectionFingerprint
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


class DefinitionPlan(msgspec.Struct, frozen=True):
    """A collection before and after a change, and the records it held. None means that it does not exist."""

    name: str
    before: ManagedCollection | None
    after: ManagedCollection | None
    seen: CollectionFingerprint


class CollectionDefined(TypedDict):
    collection: str
    schema: dict[str, Any]
    records: Annotated[int, Meta(description="The number of its records")]


class CollectionDropped(TypedDict):
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
async def define(ctx: Context, name: Name, schema: Schema) -> CollectionDefined:
    """Create a collection, or change its schema. All its records must match the new schema."""
    plan = await _plan_definition(ctx, name, schema)
    await _apply(ctx, plan)
    return {"collection": name, "schema": dict(schema), "records": plan.seen.count}


@define.describes_effect
async def define_effect(ctx: Context, name: Name, schema: Schema) -> dict[str, Any]:
    return _describe_plan(await _plan_definition(ctx, name, schema))


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
async def drop(ctx: Context, name: Name) -> CollectionDropped:
    """Drop an empty collection."""
    plan = await _plan_drop(ctx, name)
    await _apply(ctx, plan)
    return {"dropped": name}


@drop.describes_effect
async def drop_effect(ctx: Context, name: Name) -> dict[str, Any]:
    return _describe_plan(await _plan_drop(ctx, name))


@family.undoer("collection")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous definition of a collection, unless it has changed since."""
    (image,) = images
    now, _ = await _find(ctx, image.target)
    if _mark(now) != image.after:
        raise Conflict(f"Collection {image.target} has changed since. Nothing was undone.")
    if image.before is None:
        plan = await _plan_drop(ctx, image.target)
    else:
        plan = await _plan_definition(ctx, image.target, _decode(image.before))
    await _apply(ctx, plan, before_images.mark_undone(image.call, ctx.call.id))
    return {"collection": image.target, "schema": plan.after.schema if plan.after else None}


async def _plan_definition(ctx: Context, name: str, schema: Mapping[str, Any]) -> DefinitionPlan:
    if name in SYSTEM:
        raise BadParams(f"{name!r} is a system collection of Doorward. Choose another name.")
    known, seen = await _find(ctx, name)
    wanted = managed_definitions.list_definitions(ctx.caller.tenant, name, schema, known.version + 1 if known else 1)
    if known is not None:
        seen = await catalogue(ctx).read_internal(lambda db: managed_definitions.check_records(db, wanted))
    return DefinitionPlan(name, known, wanted, seen)


async def _plan_drop(ctx: Context, name: str) -> DefinitionPlan:
    known, seen = await _find(ctx, name)
    if known is None:
        raise NotFound(f"There is no managed collection {name[:80]!r}. data/describe lists all collections.")
    if seen.count:
        raise Conflict(f"Collection {name} is not empty (records: {seen.count}). Delete its records first.")
    return DefinitionPlan(name, known, None, seen)


async def _find(ctx: Context, name: str) -> tuple[ManagedCollection | None, CollectionFingerprint]:
    tenant = ctx.caller.tenant

    def look(db: sqlite3.Connection) -> tuple[ManagedCollection | None, CollectionFingerprint]:
        return managed_collections.find(db, tenant, name), managed_definitions.take_fingerprint(db, tenant, name)

    return await catalogue(ctx).read_internal(look)


async def _apply(ctx: Context, plan: DefinitionPlan, *more: Statement) -> None:
    keep = before_images.store_image(
        ctx.call,
        kind="collection",
        target=plan.name,
        before=None if plan.before is None else _encode(plan.before.schema),
        after=_mark(plan.after),
        at=ctx.services.clock.now(),
    )
    await ctx.store.write(_statement(ctx, plan), keep, *more)


def _statement(ctx: Context, plan: DefinitionPlan) -> Statement:
    if plan.after is None:
        if plan.before is None:
            raise Conflict(f"There is no collection {plan.name}. Nothing was changed.")
        return managed_definitions.drop(plan.before)
    if plan.before is None:
        return managed_definitions.create(plan.after, ctx.services.clock.now())
    return managed_definitions.replace(plan.after, plan.before.version, plan.seen)


def _mark(collection: ManagedCollection | None) -> str:
    """A mark of the definition, to detect whether it has changed since an execution."""
    return GONE if collection is None else str(collection.version)


def _describe_plan(plan: DefinitionPlan) -> dict[str, Any]:
    return {
        "collection": plan.name,
        "before": plan.before.schema if plan.before else None,
        "after": plan.after.schema if plan.after else None,
        "records": plan.seen.count,
    }
