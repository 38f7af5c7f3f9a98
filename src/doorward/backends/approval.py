"""approval/*: see what waits for a person, and decide."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from doorward.approvals.approvals import Approval, State
from doorward.backends.context import Context, Listing
from doorward.clock import iso
from doorward.command import READS_ONLY, Command, Example, Family, NoUndo
from doorward.errors import NotFound, NotPermitted
from doorward.facts import Access, Effects, Safety, Tier
from doorward.model import Kind
from doorward.recipes.policy import not_to_be_taken_back
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


class Listed(ApprovalFacts):
    waitsForYou: Annotated[bool, Meta(description="Whether you may decide about it, and have not yet")]


class Page(Listing[Listed]):
    next: Annotated[str | None, Meta(description="What to give as `before` for older ones; null for no more")]


class Detailed(ApprovalFacts):
    kind: Annotated[Kind, Meta(description="Whether a person, an AI or a program asks")]
    onBehalfOf: Annotated[str, Meta(description="The person whom an AI or a program acts for")]
    why: Annotated[str, Meta(description="What asks for a person's word, as it stands now")]
    approvers: Annotated[list[str], Meta(description="Who decides: roles in the room, or people")]
    quorum: Annotated[int, Meta(description="How many of them must say yes")]
    safety: Annotated[Safety | None, Meta(description="How much the command can do; null when it is gone")]
    cannotDecide: Annotated[str, Meta(description="Why you are not the one to decide; empty when you may")]
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
    before: Annotated[str, Meta(description="Only those older than this one, which `next` named", max_length=64)] = "",
) -> Page:
    """List approvals of the rooms you are in, newest first."""
    found = await ctx.house.approvals.newest(ctx.caller.tenant, limit, before)
    decided = await ctx.house.approvals.decided_by(ctx.caller, found)
    items: list[Listed] = [
        {
            **_shown(one),
            "waitsForYou": one.state == "pending" and one.id not in decided and not _cannot_decide(ctx, one),
        }
        for one in found
        if (not pending or one.state == "pending") and (_in_room(ctx, one) or _own(ctx, one))
    ]
    return {"items": items, "next": found[-1].id if len(found) == limit else None}


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
    room = ctx.house.rooms.get(approval.tenant, approval.room)
    hidden = room.direct and not room.seen_by(ctx.caller) if room is not None else not approval.room
    if hidden and not _own(ctx, approval):
        raise ctx.house.approvals.unknown(id)
    decisions = await ctx.house.approvals.decisions(approval)
    known = approval.command in ctx.house.registry
    command = ctx.house.registry[approval.command] if known else None
    facts: Detailed = {
        **_shown(approval),
        "kind": approval.kind,
        "onBehalfOf": approval.behalf,
        "why": _why(ctx, approval, command),
        "approvers": json.loads(approval.approvers),
        "quorum": approval.quorum,
        "safety": command.facts.safety if command is not None else None,
        "cannotDecide": _cannot_decide(ctx, approval, decisions),
        "shown": approval.shown,
        "difference": visible(approval.foreseen),
        "decisions": [{**one, "at": iso(one["at"])} for one in decisions],
    }
    if approval.room and not _in_room(ctx, approval):
        facts["shown"] = "(you are not in that room)"
        del facts["difference"]
    return facts


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
    return room is not None and room.seen_by(ctx.caller)


def _own(ctx: Context, approval: Approval) -> bool:
    """Whether it is about what this caller wants to do, or an agent or the keeper for them."""
    if not ctx.caller.owns(approval.caller, approval.behalf):
        return False
    return ctx.caller.reaches(approval.room) if approval.room else ctx.caller.rooms is None


def _why(ctx: Context, approval: Approval, command: Command | None) -> str:
    """What asks for a person's word: the room's recipe, or the command itself."""
    if command is None:
        return f"{approval.command} is no command any more, so this can no longer run."
    room = ctx.house.rooms.get(approval.tenant, approval.room)
    policy = ctx.house.recipes.policy(room.recipe) if room is not None else None
    if room is not None and policy is not None and policy.approval(command) is not None:
        return f"The recipe {room.recipe} of the room {room.id} asks a person before {command.name}."
    if command.asks_first and approval.kind != "human":
        return f"{command.name} is a tool of another server, and each call of it asks a person."
    if not approval.room or (approval.kind != "human" and not_to_be_taken_back(command)):
        return (
            f"The keeper wants to run {command.name}: what destroys something, reaches beyond this machine or "
            "cannot be undone asks a person first."
        )
    return f"When this was asked for, {command.name} needed a person's word; as things stand now it would not."


def _cannot_decide(ctx: Context, approval: Approval, decisions: Sequence[Mapping[str, Any]] = ()) -> str:
    if any(one["decider"] == ctx.caller.id for one in decisions):
        return "You have said your word."
    try:
        ctx.house.approvals.may_decide(ctx.caller, approval)
    except (NotPermitted, NotFound) as denial:
        return denial.message
    return ""


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
