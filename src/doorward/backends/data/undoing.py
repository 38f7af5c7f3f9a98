"""Undo of changes to records."""

from __future__ import annotations

import sqlite3
from typing import Any

from doorward.backends.context import Context
from doorward.backends.data import attached_table, managed
from doorward.backends.data.family import catalogue, family
from doorward.errors import Conflict
from doorward.store import before_images
from doorward.store.attached import AttachedTable
from doorward.store.before_images import BeforeImage
from doorward.store.collections import Collection
from doorward.store.records import ManagedCollection, Record, load


@family.undoer("data")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous version of a record, unless it has changed since."""
    (image,) = images
    name, _, id = image.target.partition("/")

    def look(db: sqlite3.Connection, found: Collection) -> tuple[Collection, Record | None]:
        return found, load(db, found, id) if isinstance(found, ManagedCollection) else None

    done = before_images.mark_undone(image.call, ctx.call.id)
    found, now = await catalogue(ctx).read(name, look)
    if isinstance(found, ManagedCollection):
        record = await managed.apply(ctx, found, managed.restored(ctx, found, now, image), done)
    elif isinstance(found, AttachedTable):
        record = await attached_table.apply(
            ctx, found, lambda editor: editor.restore(id, image.before, image.after), done
        )
    else:
        raise Conflict(f"The collection {name} cannot be changed. Nothing was undone.")
    return {"target": image.target, "record": record}
