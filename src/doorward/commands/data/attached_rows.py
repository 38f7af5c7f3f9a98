"""Apply changes to one row in a table of an attached database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from doorward.commands.context import Context
from doorward.commands.data.family import catalogue
from doorward.core.errors import LedgerUnavailable
from doorward.store import attached_edits, before_images
from doorward.store.attached_databases import AttachedTable
from doorward.store.attached_edits import AttachedEdit, Editor, Keep
from doorward.store.sqlite import Statement

KEEP_SECONDS = 10.0

Work = Callable[[Editor], AttachedEdit]


async def apply(ctx: Context, table: AttachedTable, work: Work, *more: Statement) -> dict[str, Any]:
    """Apply a change after its before-image is stored. Return the changed row."""
    loop = asyncio.get_running_loop()

    def keep(change: AttachedEdit) -> None:
        image = before_images.store_image(
            ctx.call,
            kind="data",
            target=f"{table.name}/{change.id}",
            before=change.image,
            after=change.mark,
            at=ctx.services.clock.now(),
        )
        try:
            asyncio.run_coroutine_threadsafe(ctx.store.write(image, *more), loop).result(KEEP_SECONDS)
        except TimeoutError as error:
            raise LedgerUnavailable(
                f"The before-image could not be stored within {KEEP_SECONDS:g} s. Nothing was changed."
            ) from error

    change = await _run(ctx, table, work, keep)
    shown = attached_edits.render_row(table, change.after)
    return shown if shown is not None else {"deleted": change.id, "collection": table.name}


async def preview(ctx: Context, table: AttachedTable, work: Work) -> dict[str, Any]:
    """Preview a change for a dry run: apply it in a transaction that is rolled back."""
    change = await _run(ctx, table, work, None)
    return {
        "collection": table.name,
        "before": attached_edits.render_row(table, change.before),
        "after": attached_edits.render_row(table, change.after),
    }


async def _run(ctx: Context, table: AttachedTable, work: Work, keep: Keep | None) -> AttachedEdit:
    shelf = catalogue(ctx)
    source = shelf.source(table.name.partition(".")[0])
    return await asyncio.to_thread(attached_edits.edit_row, source, table.table, shelf.scope, work, keep)
