"""`undo`: take back whatever an execution changed, if it declared how."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, TypedDict, cast

from msgspec import Meta

from doorward.backends.context import Context
from doorward.command import Example, Family, Undo
from doorward.errors import Conflict, NotFound, NotPermitted
from doorward.facts import Access, Effects, Safety, Tier
from doorward.store import before_images, executions

family = Family("", category="history")

Execution = Annotated[str, Meta(description="The execution to take back, as its result named it", max_length=64)]


class Undone(TypedDict):
    """What was taken back; beside this, what it restored says of itself."""

    undone: Annotated[str, Meta(description="The execution that was taken back")]
    command: Annotated[str, Meta(description="The command that it had run")]


@family.command(
    "undo",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=30,
    undo=Undo("*"),
    examples=[Example("take back what execution 01k9x2m4q7ab3cde changed", {"execution": "01k9x2m4q7ab3cde"})],
)
async def undo(ctx: Context, execution: Execution) -> Undone:
    """Take back what an execution changed: files, records, rooms, recipes.

    Refused when something changed the same thing since. An undo can itself be undone.
    """
    return await undo_execution(ctx, execution)


@undo.shows_effect
async def undo_effect(ctx: Context, execution: str) -> dict[str, Any]:
    images = await images_to_restore(ctx, execution)
    return {"command": images[0].command, "wouldRestore": [f"{image.kind} {image.target}" for image in images]}


async def undo_execution(ctx: Context, execution: str, kinds: Collection[str] | None = None) -> Undone:
    """Restore every before-image of an execution, provided the caller might have made the change itself."""
    images = await images_to_restore(ctx, execution, kinds)
    restored = await ctx.house.registry.undoer(images[0].kind).restore(ctx, images)
    return cast("Undone", {"undone": execution, "command": images[0].command, **restored})


async def images_to_restore(
    ctx: Context, execution: str, kinds: Collection[str] | None = None
) -> list[before_images.BeforeImage]:
    """The before-images of an execution that this caller may take back now."""
    images = await before_images.of_call(ctx.store, ctx.caller.tenant, execution)
    reached = ctx.caller.rooms is None or await executions.happened_in(ctx.store, ctx.caller.rooms, execution)
    if not images or not reached or (kinds is not None and images[0].kind not in kinds):
        raise NotFound(
            f"There is nothing to undo for execution {execution!r}; only executions that changed something, "
            "and whose command declares an undo, can be taken back."
        )
    first = images[0]
    if first.undone_by:
        raise Conflict(
            f"Execution {execution} was undone already, by {first.undone_by}.",
            hint=f"To bring the change back, undo {first.undone_by}.",
        )
    own = ctx.caller.owns(first.caller, first.behalf)
    if not own and (ctx.caller.kind != "human" or ctx.caller.access < Access.FULL):
        raise NotPermitted(
            f"Execution {execution} is another caller's; only its caller or a person with full access may undo it."
        )
    if first.command in ctx.house.registry:
        ruling = ctx.may(first.command)
        if not ruling.allowed:
            raise NotPermitted(f"Undoing {first.command} needs the right to run it: {ruling.reason}", rule=ruling.rule)
    return images
