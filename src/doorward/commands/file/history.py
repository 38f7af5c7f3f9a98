"""Commands file/history and file/undo, and the undoer of files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.file.changes import KIND, ContentFunction, change_files, describe_sizes
from doorward.commands.file.family import FileHistory, FilePath, PastChange, family
from doorward.commands.file.text import digest
from doorward.commands.undo import ExecutionId, UndoResult, images_to_restore, undo_execution
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Undo
from doorward.core.errors import BadParams, Conflict
from doorward.sandbox.safefs import SafeRoot, normalize_path
from doorward.store import before_images
from doorward.store.before_images import BeforeImage, ChangeTrace


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
async def undo(ctx: Context, execution: ExecutionId) -> UndoResult:
    """Undo the changes of a file command.

    It is refused if the file has changed since. An undo can itself be undone, with its own execution id.
    """
    return await undo_execution(ctx, execution, kinds={KIND})


@undo.describes_effect
async def undo_effect(ctx: Context, execution: str) -> dict[str, Any]:
    images = await images_to_restore(ctx, execution, kinds={KIND})
    return {"command": images[0].command, "wouldRestore": [image.target for image in images]}


@family.undoer(KIND)
async def restore(ctx: Context, images: Sequence[BeforeImage]) -> dict[str, Any]:
    call = images[0].call
    done = await change_files(
        ctx,
        {image.target: _restore_content(image) for image in images},
        parents=True,
        # Mark it undone only after the files are restored: after a crash before that, it can be undone again.
        then=before_images.mark_undone(call, ctx.call.id),
    )
    if not any(one.has_effect for one in done):
        paths = ", ".join(repr(image.target) for image in images)
        raise Conflict(f"There is nothing to undo for execution {call}: {paths} already has its old content.")
    return {"files": [describe_sizes(one) for one in done if one.has_effect], "execution": ctx.call.id}


def _restore_content(image: BeforeImage) -> ContentFunction:
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
) -> FileHistory:
    """List the recorded changes of a file, newest first: execution, caller, time, and whether it was undone."""
    name = normalize_path(path, file=True)
    traces = await before_images.of_target(ctx.store, ctx.caller.tenant, KIND, name, _workspaces_of(ctx), limit)
    present = await asyncio.to_thread(_read_present, ctx, name)
    sizes_after = [_size_now(present, traces[0].after) if traces else None, *(trace.size for trace in traces)]
    changes = [_describe_trace(trace, after) for trace, after in zip(traces, sizes_after, strict=False)]
    return {"items": changes, "path": name}


def _workspaces_of(ctx: Context) -> list[str]:
    """The folders whose changes belong to the files of this call: its own and, in a draft, the workspace below it."""
    below = ctx.services.drafts.get(ctx.call.draft).workspace if ctx.call.draft else ctx.call.workspace
    shared = ctx.services.workspaces.find(ctx.caller.tenant)
    return [ctx.call.workspace, below, *([""] if below == shared else [])]


def _describe_trace(trace: ChangeTrace, size_after: int | None) -> PastChange:
    item: PastChange = {
        "execution": trace.call,
        "command": trace.command,
        "caller": trace.caller,
        "at": to_iso(trace.at),
        "created": trace.size is None and trace.undone_by != before_images.DROPPED,
        "deleted": not trace.after,
        "bytesBefore": trace.size,
        "bytesAfter": size_after if trace.after else None,
        "undone": bool(trace.undone_by) and trace.undone_by != before_images.DROPPED,
    }
    if trace.behalf:
        item["onBehalfOf"] = trace.behalf
    if trace.undone_by == before_images.DROPPED:
        item["note"] = "Its old content was dropped (setting limits.undo_bytes), so it cannot be undone."
    elif trace.undone_by:
        item["undoneBy"] = trace.undone_by
    return item


def _size_now(present: bytes | None, after: str) -> int | None:
    """The size after the newest change, if the file has not changed since."""
    return len(present) if present is not None and digest(present) == after else None


def _read_present(ctx: Context, path: str) -> bytes | None:
    with SafeRoot(ctx.workspace) as root:
        try:
            found = root.read_existing(path, ctx.services.settings.files.largest_file)
        except BadParams:
            return None
    return found.data if found else None
