"""The command `undo`: revert the changes of an execution."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, TypedDict, cast

import msgspec
from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, Undo
from doorward.core.errors import Conflict, NotFound, NotPermitted, Unusable
from doorward.sandbox.safefs.guarded_paths import find_guarded_path
from doorward.store import before_images, executions

family = Family("", category="history")

_FILES = ("file", "tree")
"""The kinds of before-images whose targets are paths in the workspace."""

ExecutionId = Annotated[str, Meta(description="The id of the execution to undo, from its result", max_length=64)]


class UndoResult(TypedDict):
    """The undone execution. The undoer of each kind adds its own fields."""

    undone: Annotated[str, Meta(description="The execution that was undone")]
    command: Annotated[str, Meta(description="The command it had run")]


@family.command(
    "undo",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=30,
    undo=Undo("*"),
    examples=[Example("undo the execution 01k9x2m4q7ab3cde", {"execution": "01k9x2m4q7ab3cde"})],
)
async def undo(ctx: Context, execution: ExecutionId) -> UndoResult:
    """Undo the changes of an execution: files, records, rooms, recipes.

    It is refused if the same things have changed since. An undo can itself be undone.
    """
    return await undo_execution(ctx, execution)


@undo.describes_effect
async def undo_effect(ctx: Context, execution: str) -> dict[str, Any]:
    images = await images_to_restore(ctx, execution)
    return {"command": images[0].command, "wouldRestore": [f"{image.kind} {image.target}" for image in images]}


async def undo_execution(ctx: Context, execution: str, kinds: Collection[str] | None = None) -> UndoResult:
    """Restore every before-image of an execution, if the caller has the right to make the change itself."""
    images = await images_to_restore(ctx, execution, kinds)
    if images[0].kind in _FILES:
        call = msgspec.structs.replace(ctx.call, workspace=_workspace_of(ctx, images[0]))
        ctx = msgspec.structs.replace(ctx, call=call)
    restored = await ctx.services.registry.undoer(images[0].kind).restore(ctx, images)
    return cast("UndoResult", {"undone": execution, "command": images[0].command, **restored})


async def images_to_restore(
    ctx: Context, execution: str, kinds: Collection[str] | None = None
) -> list[before_images.BeforeImage]:
    """The before-images of an execution, if this caller may undo it now."""
    images = await before_images.of_call(ctx.store, ctx.caller.tenant, execution)
    reached = ctx.caller.rooms is None or await executions.is_in_rooms(ctx.store, ctx.caller.rooms, execution)
    if not images or not reached or (kinds is not None and images[0].kind not in kinds):
        raise NotFound(
            f"There is nothing to undo for execution {execution!r}. Only an execution that changed something, "
            "and whose command supports undo, can be undone."
        )
    first = images[0]
    if first.undone_by == before_images.DROPPED:
        most = ctx.services.settings.limits.undo_bytes
        raise NotFound(
            f"Execution {execution} can no longer be undone: its history was dropped, because the undo history is "
            f"limited to {most} bytes (setting limits.undo_bytes) and newer changes filled it."
        )
    if first.undone_by:
        raise Conflict(
            f"Execution {execution} is already undone, by {first.undone_by}.",
            hint=f"To restore the change, undo {first.undone_by}.",
        )
    own = ctx.caller.owns(first.caller, first.behalf)
    if not own and (ctx.caller.kind != "human" or ctx.caller.access < Access.FULL):
        raise NotPermitted(
            f"Execution {execution} is another caller's. Only its caller or a person with full access may undo it."
        )
    files = (one.target for one in images if one.kind in _FILES and one.before)
    guarded = next((path for path in files if find_guarded_path(path)), "")
    if guarded and ctx.caller.kind != "human":
        raise NotPermitted(
            f"Undoing execution {execution} would change {guarded!r}, which a person's own tools run later. "
            "Only a person may undo it.",
            rule="built-in: files that run later need a person",
        )
    if ctx.caller.kind != "human" and _widens_access(ctx, first.kind):
        raise NotPermitted(
            f"Execution {execution} changed what somebody may do. Only a person may undo it; you are "
            f"{ctx.caller.kind_label}.",
            rule="built-in: only people undo changes of access",
        )
    if first.command in ctx.services.registry:
        ruling = ctx.get_ruling(first.command)
        if not ruling.allowed:
            raise NotPermitted(
                f"Undoing {first.command} requires the right to run it: {ruling.reason}", rule=ruling.rule
            )
    if first.kind in _FILES:
        _workspace_of(ctx, first)
    return images


def _workspace_of(ctx: Context, image: before_images.BeforeImage) -> str:
    """The workspace that a change was made in. Only people, and outside rooms, undo changes of other workspaces."""
    here = ctx.call.workspace
    made_in = image.workspace or ctx.services.workspaces.find(ctx.caller.tenant)
    if made_in == here:
        return here
    if ctx.services.drafts.contains(made_in):
        raise Conflict(
            f"Execution {image.call} changed a draft. Only its agent can undo it there.",
            hint="To give up the whole draft: draft/drop",
        )
    if ctx.caller.kind != "human" or ctx.call.room:
        raise Conflict(
            f"Execution {image.call} changed files of another workspace. Nothing was undone.",
            hint="A person can undo it, in the room that it was made in or outside rooms.",
        )
    if not os.path.isdir(made_in):
        raise Conflict(f"The workspace {made_in} of execution {image.call} does not exist any more.")
    try:
        if made_in != ctx.services.workspaces.find(ctx.caller.tenant):
            ctx.services.workspaces.check_outside(Path(made_in))
    except Unusable as error:
        raise Conflict(error.message, hint=error.hint) from error
    return made_in


def _widens_access(ctx: Context, kind: str) -> bool:
    """Whether changes of this kind can widen access. An undo of an undo repeats the change, so the kind decides."""
    return any(one.facts.widens_access and one.facts.undo == Undo(kind) for one in ctx.services.registry)
