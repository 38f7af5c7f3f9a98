"""approval/*: see what waits for a person, and decide."""

from __future__ import annotations

import json
from typing import Annotated, Any, NotRequired, TypedDict, cast

from msgspec import Meta

from doorward.approvals.approvals import Approval, State
from doorward.backends.context import Context, Listing, listing
from doorward.clock import iso
from doorward.command import READS_ONLY, Example, Family, NoUndo
from doorward.facts import Access, Effects, Safety, Tier
from doorward.visible import visible

family = Family("approval", category="approvals")

Id = Annotated[str, Meta(description="The approval's id (the ticket)", min_length=1, max_length=64)]
_AN_ID = "01k9x2m4q7ab3cde"


class ApprovalFacts(TypedDict):
    """An approval, without what exactly would run."""

    id: str
    state: State
    room: str
    caller: str
    command: str
    params: Annotated[Any, Meta(description="The parameters; secrets are left out")]
    createdAt: str
    expiresAt: str
    usedBy: Annotated[str | None, Meta(description="The call that used it up; null while none did")]


class Detailed(ApprovalFacts):
    shown: Annotated[str, Meta(description="What exactly would run, with hidden characters written out")]
    difference: NotRequired[Annotated[str, Meta(description="What it would change, where that could be foreseen")]]
    decisions: list[dict[str, Any]]


@family.command(
    "list",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("what waits for me", {"pending": True})],
    related=["approval/approve", "approval/deny"],
    tells_how_it_stands=True,
)
async def list_approvals(
    ctx: Context,
    pending: Annotated[bool, Meta(description="Only those that still wait")] = False,
    limit: Annotated[int, Meta(description="At most so many, newest first", ge=1, le=500)] = 50,
) -> Listing[ApprovalFacts]:
    """List approvals of the rooms you are in, newest first."""
    found = await ctx.house.approvals.newest(ctx.caller.tenant, limit)
    return listing(
        [
            _shown(one)
            for one in found
            if (not pending or one.state == "pending") and (_in_room(ctx, one) or one.caller == ctx.caller.id)
        ]
    )


@family.command(
    "show",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("what exactly would run", {"id": _AN_ID})],
    related=["approval/list"],
    humans_only=True,
    tells_how_it_stands=True,
)
async def show(ctx: Context, id: Id) -> Detailed:
    """Show exactly what an approval is about: the text is what runs, with hidden characters written out."""
    approval = await ctx.house.approvals.find(ctx.caller.tenant, id)
    decisions = await ctx.house.approvals.decisions(approval)
    if not _in_room(ctx, approval):
        hidden = {**_shown(approval), "shown": "(you are not in that room)", "decisions": decisions}
        return cast("Detailed", hidden)
    difference = visible(approval.foreseen)
    return {**_shown(approval), "shown": approval.shown, "difference": difference, "decisions": decisions}


@family.command(
    "approve",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=5,
    undo=NoUndo("an approval can be used at once"),
    examples=[Example("let it run", {"id": _AN_ID})],
    related=["approval/list", "approval/deny"],
    humans_only=True,
)
async def approve(ctx: Context, id: Id) -> ApprovalFacts:
    """Say yes to what waits. It may then run once, exactly as shown."""
    return _shown(await ctx.house.approvals.decide(ctx.caller, id, "approve"))


@family.command(
    "deny",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=NoUndo("whoever asked was told no; it can be asked again"),
    examples=[Example("do not let it run", {"id": _AN_ID})],
    related=["approval/list", "approval/approve"],
    humans_only=True,
)
async def deny(ctx: Context, id: Id) -> ApprovalFacts:
    """Say no to what waits."""
    return _shown(await ctx.house.approvals.decide(ctx.caller, id, "deny"))


def _in_room(ctx: Context, approval: Approval) -> bool:
    room = ctx.house.rooms.get(approval.tenant, approval.room)
    return room is not None and ctx.caller.reaches(room.id) and room.member(ctx.caller) is not None


def _shown(approval: Approval) -> ApprovalFacts:
    return {
        "id": approval.id,
        "state": approval.state,
        "room": approval.room,
        "caller": approval.caller,
        "command": approval.command,
        "params": json.loads(approval.redacted),
        "createdAt": iso(approval.created_at),
        "expiresAt": iso(approval.expires_at),
        "usedBy": approval.used_by,
    }
