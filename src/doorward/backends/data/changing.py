"""data/create, update and delete: on managed collections and attached tables."""

from __future__ import annotations

import sqlite3
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.data import attached_table, managed
from doorward.backends.data.family import CollectionName, Fields, RecordId, catalogue, family
from doorward.command import Example, Undo
from doorward.errors import BadParams, NotPermitted
from doorward.facts import Access, Effects, Safety, Tier
from doorward.store.attached import AttachedTable
from doorward.store.collections import Collection
from doorward.store.records import ManagedCollection, Record, load
from doorward.store.system_collections import SystemCollection

Data = Annotated[dict[str, Any], Meta(description="The record's own fields and their values")]
Changes = Annotated[
    dict[str, Any],
    Meta(description="The fields to change; others stay. In a managed collection null takes a field away"),
]
NewId = Annotated[
    Annotated[str, Meta(min_length=1, max_length=1_000)] | int | None,
    Meta(description="The id of the new record; by default one is made"),
]
Version = Annotated[
    Annotated[int, Meta(ge=1)] | None,
    Meta(description="The version you have seen; refused when the record changed since"),
]


class Deleted(TypedDict):
    deleted: Annotated[str | int, Meta(description="The id of the record that is gone")]
    collection: str


@family.command(
    "create",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=30,
    undo=Undo("data"),
    examples=[Example("note something", {"collection": "notes", "data": {"title": "Buy milk"}})],
    related=["data/update", "data/delete", "collection/define"],
    reveals="data/read",
)
async def create(ctx: Context, collection: CollectionName, data: Data, id: NewId = None) -> Fields:
    """Add a record to a managed collection or a table of an attached database.

    Access lists (access_read, access_edit, access_full, access_deny: lists of user ids) need full access.
    """
    found, _ = await _target(ctx, collection, None)
    if isinstance(found, ManagedCollection):
        return await managed.apply(ctx, found, managed.created(ctx, found, data, id))
    return await attached_table.apply(ctx, found, lambda editor: editor.create(id, data))


@create.shows_effect
async def create_effect(ctx: Context, collection: CollectionName, data: Data, id: NewId = None) -> dict[str, Any]:
    found, before = await _target(ctx, collection, id)
    if isinstance(found, ManagedCollection):
        return managed.shown(found, managed.created(ctx, found, data, id, before))
    return await attached_table.tried(ctx, found, lambda editor: editor.create(id, data))


@family.command(
    "update",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=30,
    undo=Undo("data"),
    examples=[Example("tick off a note", {"collection": "notes", "id": "n1", "data": {"done": True}})],
    related=["data/read", "data/create", "data/delete"],
    reveals="data/read",
)
async def update(
    ctx: Context, collection: CollectionName, id: RecordId, data: Changes, version: Version = None
) -> Fields:
    """Change fields of a record; whoever may read it but not edit it is refused."""
    found, before = await _target(ctx, collection, id)
    if isinstance(found, ManagedCollection):
        return await managed.apply(ctx, found, managed.updated(ctx, found, before, id, data, version))
    _no_version(found, version)
    return await attached_table.apply(ctx, found, lambda editor: editor.update(id, data))


@update.shows_effect
async def update_effect(
    ctx: Context, collection: CollectionName, id: RecordId, data: Changes, version: Version = None
) -> dict[str, Any]:
    found, before = await _target(ctx, collection, id)
    if isinstance(found, ManagedCollection):
        return managed.shown(found, managed.updated(ctx, found, before, id, data, version))
    _no_version(found, version)
    return await attached_table.tried(ctx, found, lambda editor: editor.update(id, data))


@family.command(
    "delete",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE | Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=30,
    undo=Undo("data"),
    examples=[Example("throw a note away", {"collection": "notes", "id": "n1"})],
    related=["data/read", "data/create", "data/update"],
    reveals="data/read",
)
async def delete(ctx: Context, collection: CollectionName, id: RecordId) -> Deleted:
    """Delete a record; it is kept aside, so that undo can bring it back."""
    found, before = await _target(ctx, collection, id)
    if isinstance(found, ManagedCollection):
        gone = await managed.apply(ctx, found, managed.deleted(ctx, found, before, id))
    else:
        gone = await attached_table.apply(ctx, found, lambda editor: editor.delete(id))
    return {"deleted": gone["deleted"], "collection": gone["collection"]}


@delete.shows_effect
async def delete_effect(ctx: Context, collection: CollectionName, id: RecordId) -> dict[str, Any]:
    found, before = await _target(ctx, collection, id)
    if isinstance(found, ManagedCollection):
        return managed.shown(found, managed.deleted(ctx, found, before, id))
    return await attached_table.tried(ctx, found, lambda editor: editor.delete(id))


async def _target(
    ctx: Context, name: str, id: str | int | None
) -> tuple[ManagedCollection | AttachedTable, Record | None]:
    """The collection to change and, where Doorward keeps it, the record as it is now."""

    def look(db: sqlite3.Connection, found: Collection) -> tuple[Collection, Record | None]:
        known = load(db, found, str(id)) if isinstance(found, ManagedCollection) and id is not None else None
        return found, known

    found, record = await catalogue(ctx).read(name, look)
    if isinstance(found, ManagedCollection | AttachedTable):
        return found, record
    areas = found.areas if isinstance(found, SystemCollection) else ()
    raise NotPermitted(f"The collection {name} is read-only; {_changed_by(ctx, areas)}.")


def _changed_by(ctx: Context, areas: tuple[str, ...]) -> str:
    names = [
        command.name
        for command in ctx.house.registry
        if command.name.partition("/")[0] in areas and not command.reads_only and ctx.may(command.name).allowed
    ]
    if names:
        return f"what changes it: {', '.join(names)}"
    return "Doorward itself writes it, and no command that you may use here changes it"


def _no_version(found: AttachedTable, version: int | None) -> None:
    if version is not None:
        raise BadParams(f"{found.name} is a table of your own database and keeps no versions; leave version out.")
