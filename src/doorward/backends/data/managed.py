"""Changes of one record in a managed collection. They are planned first, so that a dry run can show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward import ids
from doorward.backends.context import Context
from doorward.command import shortened
from doorward.errors import Conflict, NotFound
from doorward.facts import Access
from doorward.store import acl, before_images, records
from doorward.store.records import ManagedCollection, Record
from doorward.store.scope import Scope
from doorward.store.sqlite import Statement

GONE = "gone"

_encode = msgspec.json.Encoder().encode


class Change(msgspec.Struct, frozen=True):
    """A record before and after a change. None means that it does not exist."""

    id: str
    before: Record | None
    after: Record | None


def created(
    ctx: Context,
    collection: ManagedCollection,
    data: Mapping[str, Any],
    id: str | int | None,
    existing: Record | None = None,
) -> Change:
    body = dict(data)
    collection.check(body)
    if acl.changes_lists({}, body):
        acl.require(Scope.of(ctx.caller), {}, Access.FULL, "access lists")
    if existing is not None:
        raise Conflict(f"{collection.name}/{existing.id} already exists. Update it, or give another id.")
    now = ctx.house.clock.now()
    new = records.check_id(str(id)) if id is not None else ids.new_id()
    return Change(new, None, Record(new, 1, now, now, ctx.caller.id, body))


def updated(
    ctx: Context,
    collection: ManagedCollection,
    before: Record | None,
    id: str | int,
    data: Mapping[str, Any],
    version: int | None,
) -> Change:
    known = _visible(ctx, collection, before, id)
    scope, what = Scope.of(ctx.caller), f"{collection.name}/{known.id}"
    acl.require(scope, known.body, Access.EDIT, what)
    if version is not None and version != known.version:
        raise Conflict(f"{what} is at version {known.version} now, not {version}. Read it again.")
    body = {key: value for key, value in {**known.body, **data}.items() if value is not None or key not in data}
    if acl.changes_lists(known.body, body):
        acl.require(scope, known.body, Access.FULL, f"the access lists of {what}")
    collection.check(body)
    return Change(known.id, known, _next(ctx, known, body))


def deleted(ctx: Context, collection: ManagedCollection, before: Record | None, id: str | int) -> Change:
    known = _visible(ctx, collection, before, id)
    acl.require(Scope.of(ctx.caller), known.body, Access.FULL, f"{collection.name}/{known.id}")
    return Change(known.id, known, None)


def restored(
    ctx: Context, collection: ManagedCollection, now: Record | None, image: before_images.BeforeImage
) -> Change:
    """Plan the undo of a change, unless the record has changed since."""
    if mark(now) != image.after:
        raise Conflict(f"{image.target} has changed since. Nothing was undone.")
    wanted = None if image.before is None else msgspec.json.decode(image.before, type=Record)
    as_is, again = (None if one is None else one.body for one in (now, wanted))
    acl.require_restoring(Scope.of(ctx.caller), as_is, again, image.target)
    if wanted is None:
        if now is None:
            raise Conflict(f"{image.target} no longer exists. Nothing was undone.")
        return Change(now.id, now, None)
    if not collection.fits(wanted.body):
        raise Conflict(f"The old {image.target} does not match the schema of {collection.name}. Nothing was undone.")
    if now is None:
        return Change(wanted.id, None, msgspec.structs.replace(wanted, version=wanted.version + 1))
    return Change(now.id, now, _next(ctx, now, wanted.body))


async def apply(ctx: Context, collection: ManagedCollection, change: Change, *more: Statement) -> dict[str, Any]:
    """Store a change together with its before-image. Return the changed record."""
    keep = before_images.keep(
        ctx.call,
        kind="data",
        target=f"{collection.name}/{change.id}",
        before=None if change.before is None else _encode(change.before),
        after=mark(change.after),
        at=ctx.house.clock.now(),
    )
    await ctx.store.write(_statement(collection, change), keep, *more)
    return change.after.shown() if change.after is not None else {"deleted": change.id, "collection": collection.name}


def shown(collection: ManagedCollection, change: Change) -> dict[str, Any]:
    """Describe a change for a dry run."""
    return {
        "collection": collection.name,
        "before": None if change.before is None else change.before.shown(),
        "after": None if change.after is None else change.after.shown(),
    }


def mark(record: Record | None) -> str:
    """A mark of the record, to detect whether it has changed since an execution."""
    return GONE if record is None else str(record.version)


def _statement(collection: ManagedCollection, change: Change) -> Statement:
    if change.after is None:
        return collection.delete(change.id, change.before.version if change.before else 0)
    if change.before is None:
        return collection.create(change.after)
    return collection.update(change.after, change.before.version)


def _visible(ctx: Context, collection: ManagedCollection, record: Record | None, id: str | int) -> Record:
    scope = Scope.of(ctx.caller)
    if record is None or not acl.rights(record.body, scope.identities, scope.level):
        raise NotFound(f"There is no record {shortened(id)} in {collection.name}.")
    return record


def _next(ctx: Context, record: Record, body: dict[str, Any]) -> Record:
    now = ctx.house.clock.now()
    return msgspec.structs.replace(record, version=record.version + 1, updated_at=now, body=body)
