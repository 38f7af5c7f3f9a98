"""Commands approval/*: list pending approvals, and approve or deny them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict, cast

from msgspec import Meta

from doorward.commands.approval_rules import approve_always, choose_rule
from doorward.commands.context import Context, Listing
from doorward.commands.network import CONNECT
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Command, Example, Family, NoUndo
from doorward.core.errors import NotFound, NotPermitted
from doorward.core.model import Kind
from doorward.gate.approval import Approval, ApprovalState
from doorward.gate.approvals import LONGEST_REASON, ApprovalScope, LastingAnswer
from doorward.gate.recipes.narrow_rules import RuleName
from doorward.gate.recipes.policy import changes_access_lists, find_guarded_change, is_irreversible
from doorward.sandbox.safefs.guarded_paths import describe_guard

family = Family("approval", category="approvals")

Id = Annotated[str, Meta(description="The approval's id (the ticket)", min_length=1, max_length=64)]
_AN_ID = "01k9x2m4q7ab3cde"


class ApprovalFacts(TypedDict):
    """An approval, without the full text of the call."""

    id: str
    state: ApprovalState
    room: str
    caller: str
    command: str
    params: Annotated[Any, Meta(description="The parameters, with secrets redacted")]
    createdAt: str
    expiresAt: str
    usedBy: Annotated[str | None, Meta(description="The call that used the approval; null if unused")]
    reason: Annotated[str, Meta(description="Why it was denied, or which part was merged; empty if nothing was said")]


class ApprovalGiven(ApprovalFacts):
    rule: NotRequired[Annotated[str, Meta(description="Later calls that the answer covers, in words")]]
    recipeChange: NotRequired[Annotated[str, Meta(description="The execution that changed the recipe, for undo")]]


class ApprovalListItem(ApprovalFacts):
    waitsForYou: Annotated[bool, Meta(description="Whether you may decide and have not yet")]


class ApprovalPage(Listing[ApprovalListItem]):
    next: Annotated[str | None, Meta(description="The `before` value of the next page; null on the last page")]


class ApprovalDifference(TypedDict):
    """What the call would change: one part of it, and facts about the whole. Members of the room see it."""

    difference: NotRequired[Annotated[str, Meta(description="A part of what would change; empty if that is unknown")]]
    differenceLength: NotRequired[Annotated[int, Meta(description="The number of characters of the whole difference")]]
    differenceNext: NotRequired[
        Annotated[int | None, Meta(description="The `offset` of the next part of the difference; null at its end")]
    ]
    linesAdded: NotRequired[Annotated[int, Meta(description="The number of lines that the whole difference adds")]]
    linesRemoved: NotRequired[Annotated[int, Meta(description="The number of lines that the whole difference removes")]]


class ApprovalDetail(ApprovalFacts, ApprovalDifference):
    kind: Annotated[Kind, Meta(description="The kind of caller: a person, an AI or a program")]
    onBehalfOf: Annotated[str, Meta(description="The person the AI or program acts for")]
    why: Annotated[str, Meta(description="Why the call needs approval, under the current rules")]
    approvers: Annotated[list[str], Meta(description="Who may decide: roles in the room, or people")]
    quorum: Annotated[int, Meta(description="The number of approvals needed")]
    safety: Annotated[Safety | None, Meta(description="The command's safety level; null if the command is gone")]
    cannotDecide: Annotated[str, Meta(description="Why you may not decide; empty if you may")]
    shown: Annotated[str, Meta(description="Exactly what would run, with hidden characters escaped")]
    heldBy: Annotated[str, Meta(description="The person who looked at it and so holds it; empty if nobody did")]
    holdSeconds: Annotated[float, Meta(description="How long a person who looks at it holds it; 0 for not at all")]
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
    examples=[Example("what is waiting for me", {"pending": True})],
    related=["approval/approve", "approval/deny"],
    is_status_poll=True,
)
async def list_approvals(
    ctx: Context,
    pending: Annotated[bool, Meta(description="Only approvals that are still pending")] = False,
    limit: Annotated[int, Meta(description="Maximum number of approvals, newest first", ge=1, le=500)] = 50,
    before: Annotated[str, Meta(description="Cursor from `next` of the previous page", max_length=64)] = "",
) -> ApprovalPage:
    """List the approvals of your rooms, newest first."""
    found = await ctx.services.approvals.newest(ctx.caller.tenant, limit, before)
    decided = await ctx.services.approvals.decided_by(ctx.caller, found)
    items: list[ApprovalListItem] = [
        {
            **_describe(one),
            "waitsForYou": one.state == "pending" and one.id not in decided and not _why_cannot_decide(ctx, one),
        }
        for one in found
        if (not pending or one.state == "pending") and (_is_in_room(ctx, one) or _is_own(ctx, one))
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
    is_status_poll=True,
)
async def show(
    ctx: Context,
    id: Id,
    offset: Annotated[int, Meta(description="Where to start in the difference, in characters", ge=0)] = 0,
    limit: Annotated[int, Meta(description="Maximum characters of the difference", ge=1, le=100_000)] = 20_000,
) -> ApprovalDetail:
    """Show exactly what an approval would run, with hidden characters escaped."""
    approval = await ctx.services.approvals.find(ctx.caller.tenant, id)
    if not (ctx.services.approvals.is_known_to(ctx.caller, approval) or _is_own(ctx, approval)):
        raise ctx.services.approvals.not_found(id)
    if _is_in_room(ctx, approval):
        ctx.services.approvals.shown.note(ctx.caller, approval.id)
    decisions = await ctx.services.approvals.decisions(approval)
    known = approval.command in ctx.services.registry
    command = ctx.services.registry[approval.command] if known else None
    hides = bool(approval.room) and not _is_in_room(ctx, approval)
    difference: ApprovalDifference = {} if hides else await _load_difference(ctx, approval, offset, limit)
    return {
        **_describe(approval),
        "kind": approval.kind,
        "onBehalfOf": approval.behalf,
        "why": _explain_requirement(ctx, approval, command),
        "approvers": json.loads(approval.approvers),
        "quorum": approval.quorum,
        "safety": command.facts.safety if command is not None else None,
        "cannotDecide": _why_cannot_decide(ctx, approval, decisions),
        "heldBy": approval.held_by,
        "holdSeconds": approval.hold_seconds,
        "shown": "(you are not a member of the room)" if hides else approval.call_text,
        **difference,
        "decisions": [{**one, "at": to_iso(one["at"])} for one in decisions],
    }


@family.command(
    "approve",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=5,
    undo=NoUndo("an approval may be used immediately"),
    examples=[Example("let it run", {"id": _AN_ID})],
    related=["approval/list", "approval/deny"],
    humans_only=True,
    widens_access=True,
)
async def approve(
    ctx: Context,
    id: Id,
    scope: Annotated[
        ApprovalScope,
        Meta(description="How long it lasts: once, for the session of the caller, or always (changes the recipe)"),
    ] = "once",
    rule: Annotated[
        RuleName, Meta(description="For session and always: which later calls it covers; approval/rules lists them")
    ] = "exact",
) -> ApprovalGiven:
    """Approve a waiting call. It may then run once, exactly as shown.

    With a longer scope, later calls that the rule covers need no approval. approval/rules shows the rules.
    """
    approvals, change = ctx.services.approvals, ""
    if scope == "once":
        return cast("ApprovalGiven", _describe(await approvals.decide(ctx.caller, id, "approve")))
    pending = await approvals.find_pending(ctx.caller, id)
    narrow = choose_rule(ctx, pending, rule)
    if scope == "always":
        change = await approve_always(ctx, pending, narrow)
    else:
        await approvals.decide(ctx.caller, id, "approve", lasting=LastingAnswer(scope, narrow))
    decided = await approvals.find(ctx.caller.tenant, id)
    more = {"rule": narrow.text, **({"recipeChange": change} if change else {})}
    return cast("ApprovalGiven", {**_describe(decided), **more})


@family.command(
    "deny",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=NoUndo("the caller was denied; they can run the call again"),
    examples=[Example("do not let it run", {"id": _AN_ID})],
    related=["approval/list", "approval/approve"],
    humans_only=True,
)
async def deny(
    ctx: Context,
    id: Id,
    reason: Annotated[
        str, Meta(description="Why, for the caller to read: what it should do instead", max_length=LONGEST_REASON)
    ] = "",
) -> ApprovalFacts:
    """Deny a waiting call. The caller reads the reason."""
    return _describe(await ctx.services.approvals.decide(ctx.caller, id, "deny", reason))


@family.command(
    "hold",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=NoUndo("the request expires by itself"),
    examples=[Example("I am reading it", {"id": _AN_ID})],
    related=["approval/show", "approval/approve"],
    humans_only=True,
    is_status_poll=True,
)
async def hold(ctx: Context, id: Id) -> ApprovalFacts:
    """Keep a waiting call from expiring while you look at it. Only the first look counts, for 10 minutes by default."""
    return _describe(await ctx.services.approvals.hold(ctx.caller, id))


async def _load_difference(ctx: Context, approval: Approval, offset: int, limit: int) -> ApprovalDifference:
    preview = await ctx.services.approvals.preview(approval, offset, limit)
    return {
        "difference": preview.text,
        "differenceLength": preview.length,
        "differenceNext": preview.next,
        "linesAdded": approval.lines_added,
        "linesRemoved": approval.lines_removed,
    }


def _is_in_room(ctx: Context, approval: Approval) -> bool:
    room = ctx.services.rooms.get(approval.tenant, approval.room)
    return room is not None and room.is_visible_to(ctx.caller)


def _is_own(ctx: Context, approval: Approval) -> bool:
    """Whether the approval is for a call by this caller, or by an agent or the keeper acting for them."""
    if not ctx.caller.owns(approval.caller, approval.behalf):
        return False
    return ctx.caller.covers_room(approval.room) if approval.room else ctx.caller.rooms is None


def _explain_requirement(ctx: Context, approval: Approval, command: Command | None) -> str:
    """Explain what requires the approval: the room's recipe, or the command itself."""
    if command is None:
        return f"The command {approval.command} no longer exists, so this call can no longer run."
    room = ctx.services.rooms.get(approval.tenant, approval.room)
    policy = ctx.services.recipes.policy(room.recipe) if room is not None else None
    if room is not None and policy is not None and policy.approval_terms(command) is not None:
        return f"The recipe {room.recipe} of the room {room.id} requires approval for {command.name}."
    for part, _ in command.parts_of(json.loads(approval.params)):
        if room is not None and policy is not None and policy.approval_terms(part) is not None:
            return f"The recipe {room.recipe} of the room {room.id} requires approval for {part.name}, a part of it."
    if command.facts.widens_access and approval.kind != "human":
        return f"{command.name} can widen what somebody may do. The keeper needs approval for every such call."
    if command.asks_first and approval.kind != "human":
        if command.name == CONNECT:
            return "The recipe of the room asks before an agent's program reaches a host that it does not list."
        what = "is a tool of another server" if not command.ours else "asks a person"
        return f"{command.name} {what}. Every call of it requires approval."
    guarded = find_guarded_change(command, json.loads(approval.params)) if approval.kind != "human" else None
    if guarded is not None:
        return f"It changes {guarded[0]!r}, which runs outside the sandbox: {describe_guard(guarded[1])}"
    if approval.kind != "human" and changes_access_lists(command, json.loads(approval.params)):
        return "It sets who may read or change the record."
    if not approval.room or (approval.kind != "human" and is_irreversible(command)):
        return (
            f"The keeper wants to run {command.name}. The keeper needs approval for commands that destroy something, "
            "reach beyond this machine or cannot be undone."
        )
    return f"{command.name} required approval when it was called. It would not under the current rules."


def _why_cannot_decide(ctx: Context, approval: Approval, decisions: Sequence[Mapping[str, Any]] = ()) -> str:
    if any(one["decider"] == ctx.caller.id for one in decisions):
        return "You have already decided."
    try:
        ctx.services.approvals.check_may_decide(ctx.caller, approval)
    except (NotPermitted, NotFound) as denial:
        return denial.message
    return ""


def _describe(approval: Approval) -> ApprovalFacts:
    return {
        "id": approval.id,
        "state": approval.state,
        "room": approval.room,
        "caller": approval.caller,
        "command": approval.command,
        "params": json.loads(approval.redacted),
        "createdAt": to_iso(approval.created_at),
        "expiresAt": to_iso(approval.expires_at),
        "usedBy": approval.used_by,
        "reason": approval.reason,
    }
