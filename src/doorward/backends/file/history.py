"""file/history, file/undo and what restores files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from doorward.backends.context import Context, listing
from doorward.backends.file.changing import KIND, Make, change, sizes
from doorward.backends.file.family import FilePath, family, moment
from doorward.backends.file.text import digest
from doorward.backends.undo import Execution, undo_execution
from doorward.beneath import Root, normal
from doorward.command import READS_ONLY, Example, Undo
from doorward.errors import BadParams, Conflict
from doorward.facts import Access, Effects, Safety, Tier
from doorward.store import before_images
from doorward.store.before_images import BeforeImage


@family.command(
    "undo",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=2,
    timeout=30,
    undo=Undo(KIND),
    examples=[Example("take back the edit 01k9x2m4q7ab3cde", {"execution": "01k9x2m4q7ab3cde"})],
    related=["file/history"],
)
async def undo(ctx: Context, execution: Execution) -> dict[str, Any]:
    """Restore what an execution of a file command changed.

    Refused when the file changed since. An undo can itself be undone, by its own execution.
    """
    return await undo_execution(ctx, execution, kinds={KIND})


@family.undoer(KIND)
async def restore(ctx: Context, images: Sequence[BeforeImage]) -> dict[str, Any]:
    call = images[0].call
    done = await change(
        ctx,
        {image.target: _restored(image) for image in images},
        parents=True,
        # Only once the files are back: a crash before that leaves the execution open to be undone again.
        then=before_images.mark_undone(call, ctx.call.id),
    )
    if not any(one.real for one in done):
        paths = ", ".join(repr(image.target) for image in images)
        raise Conflict(f"There is nothing to undo for execution {call}: {paths} is as it was before.")
    return {"files": [sizes(one) for one in done if one.real], "execution": ctx.call.id}


def _restored(image: BeforeImage) -> Make:
    def make(present: bytes | None) -> bytes | None:
        if present != image.before and digest(present) != image.after:
            left = f"with SHA-256 {image.after}" if image.after else "deleted"
            now = f"it has SHA-256 {digest(present)}" if present is not None else "it does not exist"
            raise Conflict(
                f"The file {image.target!r} changed since execution {image.call}, which left it {left}; now {now}, "
                "so nothing was restored.",
                hint="file/history shows what changed it; undo the newest change first.",
            )
        return image.before

    return make


@family.command(
    "history",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=15,
    undo=READS_ONLY,
    examples=[Example("who changed server.conf", {"path": "server.conf"})],
    related=["file/undo", "file/read"],
)
async def history(
    ctx: Context,
    path: FilePath,
    limit: Annotated[int, Meta(description="The most changes to give", ge=1, le=50)] = 20,
) -> dict[str, Any]:
    """The kept changes of a file, newest first: by which execution, by whom, when, and whether undone."""
    name = normal(path, file=True)
    images = await before_images.of_target(ctx.store, ctx.caller.tenant, KIND, name, limit)
    return listing(await asyncio.to_thread(_described, ctx, name, images), path=name)


def _described(ctx: Context, path: str, images: Sequence[BeforeImage]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    later = _present(ctx, path)
    for image in images:
        item: dict[str, Any] = {
            "execution": image.call,
            "command": image.command,
            "caller": image.caller,
            "at": moment(image.at),
            "created": image.before is None,
            "deleted": not image.after,
            "bytesBefore": None if image.before is None else len(image.before),
            "bytesAfter": len(later) if later is not None and digest(later) == image.after else None,
            "undone": bool(image.undone_by),
        }
        if image.behalf:
            item["onBehalfOf"] = image.behalf
        if image.undone_by:
            item["undoneBy"] = image.undone_by
        items.append(item)
        later = image.before
    return items


def _present(ctx: Context, path: str) -> bytes | None:
    with Root(ctx.workspace) as root:
        try:
            found = root.find(path, ctx.house.settings.files.largest_file)
        except BadParams:
            return None
    return found.data if found else None
