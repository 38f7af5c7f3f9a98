"""Commands file/history and file/undo, and the undoer of files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.file.changing import KIND, Make, change, sizes
from doorward.backends.file.family import FilePath, family
from doorward.backends.file.shapes import History, PastChange
from doorward.backends.file.text import digest
from doorward.backends.undo import Execution, Undone, images_to_restore, undo_execution
from doorward.beneath import Root, normal
from doorward.clock import iso
from doorward.command import READS_ONLY, Example, Undo
from doorward.errors import BadParams, Conflict
from doorward.facts import Access, Effects, Safety, Tier
from doorward.store import before_images
from doorward.store.before_images import BeforeImage, Trace


@family.command(
    "undo",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=2,
    timeout=30,
    undo=Undo(KIND),
    examples=[Example("undo the edit 01k9x2m4q7ab3cde", {"execution": "01k9x2m4q7ab3cde"})],
    related=["file/history"],
)
async def undo(ctx: Context, execution: Execution) -> Undone:
    """Undo the changes of a file command.

    It is refused if the file has changed since. An undo can itself be undone, with its own execution id.
    """
    return await undo_execution(ctx, execution, kinds={KIND})


@undo.shows_effect
async def undo_effect(ctx: Context, execution: str) -> dict[str, Any]:
    images = await images_to_restore(ctx, execution, kinds={KIND})
    return {"command": images[0].command, "wouldRestore": [image.target for image in images]}


@family.undoer(KIND)
async def restore(ctx: Context, images: Sequence[BeforeImage]) -> dict[str, Any]:
    call = images[0].call
    done = await change(
        ctx,
        {image.target: _restored(image) for image in images},
        parents=True,
        # Mark it undone only after the files are restored: after a crash before that, it can be undone again.
        then=before_images.mark_undone(call, ctx.call.id),
    )
    if not any(one.real for one in done):
        paths = ", ".join(repr(image.target) for image in images)
        raise Conflict(f"There is nothing to undo for execution {call}: {paths} already has its old content.")
    return {"files": [sizes(one) for one in done if one.real], "execution": ctx.call.id}


def _restored(image: BeforeImage) -> Make:
    def make(present: bytes | None) -> bytes | None:
        if present != image.before and digest(present) != image.after:
            left = f"with SHA-256 {image.after}" if image.after else "deleted"
            now = f"it has SHA-256 {digest(present)}" if present is not None else "it does not exist"
            raise Conflict(
                f"The file {image.target!r} has changed since execution {image.call}, which left it {left}; now {now}. "
                "Nothing was restored.",
                hint="file/history shows its changes; undo the newest change first.",
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
    limit: Annotated[int, Meta(description="Maximum number of changes", ge=1, le=50)] = 20,
) -> History:
    """List the recorded changes of a file, newest first: execution, caller, time, and whether it was undone."""
    name = normal(path, file=True)
    traces = await before_images.of_target(ctx.store, ctx.caller.tenant, KIND, name, limit)
    present = await asyncio.to_thread(_present, ctx, name)
    sizes_after = [_size_now(present, traces[0].after) if traces else None, *(trace.size for trace in traces)]
    changes = [_described(trace, after) for trace, after in zip(traces, sizes_after, strict=False)]
    return {"items": changes, "path": name}


def _described(trace: Trace, size_after: int | None) -> PastChange:
    item: PastChange = {
        "execution": trace.call,
        "command": trace.command,
        "caller": trace.caller,
        "at": iso(trace.at),
        "created": trace.size is None,
        "deleted": not trace.after,
        "bytesBefore": trace.size,
        "bytesAfter": size_after if trace.after else None,
        "undone": bool(trace.undone_by),
    }
    if trace.behalf:
        item["onBehalfOf"] = trace.behalf
    if trace.undone_by:
        item["undoneBy"] = trace.undone_by
    return item


def _size_now(present: bytes | None, after: str) -> int | None:
    """The size after the newest change, if the file has not changed since."""
    return len(present) if present is not None and digest(present) == after else None


def _present(ctx: Context, path: str) -> bytes | None:
    with Root(ctx.workspace) as root:
        try:
            found = root.find(path, ctx.house.settings.files.largest_file)
        except BadParams:
            return None
    return found.data if found else None
