"""Changes of one record in a managed collection. They are planned first, so that a dry run can show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.commands.context import Context
from doorward.core import ids
from doorward.core.classification import Access
from doorward.core.command import shorten
from doorward.core.errors import Conflict, NotFound
from doorward.store import acl, before_images, managed_collections
from doorward.store.managed_collections import ManagedCollection, ManagedRecord
from doorward.store.scope import Scope
from doorward.store.sqlite import Statement

GONE = "gone"

_encode = msgspec.json.Encoder().encode


class RecordChange(msgspec.Struct, frozen=True):
    """A record before and after a change. None means that it does not exist."""

    id: str
    before: ManagedRecord | None
    after: ManagedRecord | None


def plan_create(
    ctx: Context,
    collection: ManagedCollection,
    data: Mapping[str, Any],
    id: str | int | None,
    existing: ManagedRecord | None = None,
) -> RecordChange:
    body = dict(data)
    collection.check(body)
    if acl.changes_lists({}, body):
        acl.require(Scope.of(ctx.caller), {}, Access.FULL, "access lists")
    if existing is not None:
        raise Conflict(f"{collection.name}/{existing.id} already exists. Update it, or give another id.")
    now = ctx.services.clock.now()
    new = managed_collections.check_id(str(id)) if id is not None else ids.new_id()
    return RecordChange(new, None, ManagedRecord(new, 1, now, now, ctx.caller.id, body))


def plan_update(
    ctx: Context,
    collection: ManagedCollection,
    before: ManagedRecord | None,
    id: str | int,
    data: Mapping[str, Any],
    version: int | None,
) -> RecordChange:
    known = _get_visible(ctx, collection, before, id)
    scope, what = Scope.of(ctx.caller), f"{collection.name}/{known.id}"
    acl.require(scope, known.body, Access.EDIT, what)
    if version is not None and version != known.version:
        raise Conflict(f"{what} is at version {known.version} now, not {version}. Read it again.")
    body = {key: value for key, value in {**known.body, **data}.items() if value is not None or key not in data}
    if acl.changes_lists(known.body, body):
        acl.require(scope, known.body, Access.FULL, f"the access lists of {what}")
    collection.check(body)
    return RecordChange(known.id, known, _next_version(ctx, known, body))


def plan_delete(
    ctx: Context, collection: ManagedCollection, before: ManagedRecord | None, id: str | int
) -> RecordChange:
    known = _get_visible(ctx, collection, before, id)
    acl.require(Scope.of(ctx.caller), known.body, Access.FULL, f"{collection.name}/{known.id}")
    return RecordChange(known.id, known, None)


def plan_restore(
    ctx: Context, collection: ManagedCollection, now: ManagedRecord | None, image: before_images.BeforeImage
) -> RecordChange:
    """Plan the undo of a change, unless the record has changed since."""
    if mark(now) != image.after:
        raise Conflict(f"{image.target} has changed since. Nothing was undone.")
    wanted = None if image.before is None else msgspec.json.decode(image.before, type=ManagedRecord)
    as_is, again = (None if one is None else one.body for one in (now, wanted))
    acl.require_restoring(Scope.of(ctx.caller), as_is, again, image.target)
    if wanted is None:
        if now is None:
            raise Conflict(f"{image.target} no longer exists. Nothing was undone.")
        return RecordChange(now.id, now, None)
    if not collection.fits(wanted.body):
        raise Conflict(f"The old {image.target} does not match the schema of {collection.name}. Nothing was undone.")
    if now is None:
        return RecordChange(wanted.id, None, msgspec.structs.replace(wanted, version=wanted.version + 1))
    return RecordChange(now.id, now, _next_version(ctx, now, wanted.body))


async def apply(ctx: Context, collection: ManagedCollection, change: RecordChange, *more: Statement) -> dict[str, Any]:
    """Store a change together with its before-image. Return the changed record."""
    keep = before_images.store_image(
        ctx.call,
        kind="data",
        target=f"{collection.name}/{change.id}",
        before=None if change.before is None else _encode(change.before),
        after=mark(change.after),
        at=ctx.services.clock.now(),
    )
    await ctx.store.write(_statement(collection, change), keep, *more)
    return (
        change.after.as_result() if change.after is not None else {"deleted": change.id, "collection": collection.name}
    )


def describe_change(collection: ManagedCollection, change: RecordChange) -> dict[str, Any]:
    """Describe a change for a dry run."""
    return {
        "collection": collection.name,
        "before": None if change.before is None else change.before.as_result(),
        "after": None if change.after is None else change.after.as_result(),
    }


def mark(record: ManagedRecord | None) -> str:
    """A mark of the record, to detect whether it has changed since an execution."""
    return GONE if record is None else str(record.version)


def _statement(collection: ManagedCollection, change: RecordChange) -> Statement:
    if change.after is None:
        return collection.delete(change.id, change.before.version if change.before else 0)
    if change.before is None:
        return collection.create(change.after)
    return collection.update(change.after, change.before.version)


def _get_visible(
    ctx: Context, collection: ManagedCollection, record: ManagedRecord | None, id: str | int
) -> ManagedRecord:
    scope = Scope.of(ctx.caller)
    if record is None or not acl.rights(record.body, scope.identities, scope.level):
        raise NotFound(f"There is no record {shorten(id)} in {collection.name}.")
    return record


def _next_version(ctx: Context, record: ManagedRecord, body: dict[str, Any]) -> ManagedRecord:
    now = ctx.services.clock.now()
    return msgspec.structs.replace(record, version=record.version + 1, updated_at=now, body=body)
