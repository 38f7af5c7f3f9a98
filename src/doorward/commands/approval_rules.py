"""The command approval/rules: the narrow rules that an answer "for this session" or "always" would take."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.ledger_walk import LedgerWalk
from doorward.commands.recipe import parse_draft
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family
from doorward.core.errors import BadParams, Conflict, NotPermitted
from doorward.core.registry import Registry
from doorward.gate.approval import Approval
from doorward.gate.approvals import LastingAnswer
from doorward.gate.recipes.narrow_rules import (
    NarrowRule,
    RuleName,
    add_allowance,
    explain_unliftable,
    find_narrow_rules,
)
from doorward.gate.recipes.recipe import BadRecipe
from doorward.gate.recipes.replay import Replay

family = Family("approval", category="approvals")

RECIPE_PUT = "recipe/put"
_WEEK = 7 * 86_400 * 1_000_000
_REPLAY_SECONDS = 5
_MAX_ROOMS = 20


class PastCalls(TypedDict):
    """What the rule would have decided about the calls of the last seven days."""

    asked: Annotated[int, Meta(description="Calls that were asked about and would have run without asking")]
    unknown: Annotated[int, Meta(description="Calls for which the record is not complete enough to tell")]
    checked: Annotated[int, Meta(description="The number of calls checked")]
    complete: Annotated[bool, Meta(description="Whether the whole week was checked")]
    examples: Annotated[list[Any], Meta(description="Parameters of such calls, as recorded")]


class OfferedRule(TypedDict):
    rule: RuleName
    text: Annotated[str, Meta(description="The calls that the rule covers, in words")]
    allowance: Annotated[Any, Meta(description="The rule as it would be written to the recipe")]
    past: Annotated[PastCalls | None, Meta(description="Null if you may not change the recipe")]


class OfferedRules(TypedDict):
    id: str
    items: list[OfferedRule]
    why: Annotated[str, Meta(description="Why no rule is offered; empty if one is")]
    session: Annotated[str, Meta(description="Why you cannot answer for the session; empty if you can")]
    always: Annotated[str, Meta(description="Why you cannot answer always; empty if you can")]
    recipe: Annotated[str, Meta(description="The recipe that an answer `always` changes")]
    rooms: Annotated[list[str], Meta(description="The rooms that you know of under that recipe")]


@family.command(
    "rules",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=2,
    timeout=30,
    undo=READS_ONLY,
    examples=[Example("what would always allow", {"id": "01k9x2m4q7ab3cde"})],
    related=["approval/approve", "recipe/diff"],
    humans_only=True,
    is_status_poll=True,
)
async def rules(
    ctx: Context, id: Annotated[str, Meta(description="The approval's id (the ticket)", min_length=1, max_length=64)]
) -> OfferedRules:
    """Show the rules that an approval for the session or for always would take, and what they would have decided."""
    approval = await ctx.services.approvals.find_pending(ctx.caller, id)
    offered, why = find_offered_rules(ctx.services.registry, approval)
    always = why or _why_not_always(ctx, approval)
    items: list[OfferedRule] = [
        {
            "rule": one.name,
            "text": one.text,
            "allowance": {"command": one.allowance.command, "params": one.allowance.params},
            "past": None if always else await _replay_week(ctx, approval, one),
        }
        for one in offered
    ]
    recipe = _recipe_id(ctx, approval)
    known = [one.id for one in ctx.services.rooms.using_recipe(recipe) if one.is_known_to(ctx.caller)] if recipe else []
    return {
        "id": id,
        "items": items,
        "why": why,
        "session": why or _why_not_session(ctx, approval),
        "always": always,
        "recipe": recipe,
        "rooms": sorted(known)[:_MAX_ROOMS],
    }


def find_offered_rules(registry: Registry, approval: Approval) -> tuple[list[NarrowRule], str]:
    """Return the rules that this approval offers, or why it offers none."""
    if approval.command not in registry:
        return [], f"The command {approval.command} no longer exists."
    command, params = registry[approval.command], json.loads(approval.params)
    if approval.quorum > 1:
        return [], f"The call needs {approval.quorum} approvals, so each call is asked about."
    if not approval.room:
        return [], "The call is outside rooms, so no recipe decides about it and each call is asked about."
    fixed = {name: value for name, value in params.items() if name not in command.content_parameters}
    recorded = json.loads(approval.redacted)
    if any(recorded.get(name) != value for name, value in fixed.items()):
        return [], "The call holds secrets or very long values, so it can be approved only once."
    if why := explain_unliftable(command, params, approval.kind):
        return [], why
    offered = find_narrow_rules(command, params)
    return offered, "" if offered else "The call is too long for a rule, so it can be approved only once."


def choose_rule(ctx: Context, approval: Approval, name: RuleName) -> NarrowRule:
    """Return the rule of this name, or refuse with the reason or the names there are."""
    offered, why = find_offered_rules(ctx.services.registry, approval)
    if why:
        raise Conflict(f"{why} Nothing was decided.")
    for one in offered:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in offered)
    raise BadParams(f"There is no rule {name!r} for this call. Rules: {names}.")


async def approve_always(ctx: Context, approval: Approval, rule: NarrowRule) -> str:
    """Approve a call and add its rule to the room's recipe. Return the execution that changed the recipe.

    Whether the person may change the recipe is checked before anything is decided; recipe/put checks it again.
    """
    if why := _why_not_always(ctx, approval):
        raise NotPermitted(f"{why} Nothing was decided.")
    recipe = _recipe_id(ctx, approval)
    text = _extend_recipe(ctx, recipe, rule)
    await ctx.services.approvals.decide(ctx.caller, approval.id, "approve", lasting=LastingAnswer("always", rule))
    outcome = await ctx.services.run_nested(ctx.call, RECIPE_PUT, {"id": recipe, "text": text})
    if outcome.status != "done":
        raise Conflict(
            f"The call was approved once, but the recipe {recipe} was not changed: {outcome.message}", hint=outcome.hint
        )
    return outcome.call


def _extend_recipe(ctx: Context, recipe: str, rule: NarrowRule) -> str:
    text = ctx.services.recipes.text(recipe)
    if text is None:
        raise Conflict(f"The recipe {recipe!r} no longer exists. Nothing was decided.")
    return add_allowance(text, rule.allowance).decode()


def _recipe_id(ctx: Context, approval: Approval) -> str:
    room = ctx.services.rooms.get(approval.tenant, approval.room)
    return room.recipe if room is not None else ""


def _why_not_session(ctx: Context, approval: Approval) -> str:
    try:
        ctx.services.approvals.grants.check_known(approval.id)
    except Conflict as unknown:
        return unknown.message
    return ""


def _why_not_always(ctx: Context, approval: Approval) -> str:
    """Why this person may not change the recipe; the gate checks the change itself again."""
    ruling = ctx.get_ruling(RECIPE_PUT)
    if not ruling.allowed:
        return f"To answer always you must be allowed to change the recipe. {ruling.reason}"
    return "" if ctx.services.recipes.text(_recipe_id(ctx, approval)) is not None else "The room's recipe is missing."


async def _replay_week(ctx: Context, approval: Approval, rule: NarrowRule) -> PastCalls:
    """Replay the room's last seven days under the recipe with this rule."""
    recipe = _recipe_id(ctx, approval)
    try:
        policy = parse_draft(recipe, _extend_recipe(ctx, recipe, rule))
    except BadRecipe as error:
        raise Conflict(f"The rule cannot be added to the recipe: {error.message}") from error
    replay = Replay(policy, {one.name: one for one in ctx.services.registry}.get, examples=3)
    now = ctx.services.clock.wall_us()
    walk = LedgerWalk(ctx, replay.add, [approval.room], (now - _WEEK, now + 1), _REPLAY_SECONDS)
    await walk.run()
    groups = [one for one in replay.groups() if one.command == approval.command]
    freed = [one for one in groups if (one.was, one.would) == ("approval", "allowed")]
    return {
        "asked": sum(one.count for one in freed),
        "unknown": sum(one.count for one in groups if one.would == "unknown"),
        "checked": replay.replayed,
        "complete": walk.reached <= walk.span[0],
        "examples": [json.loads(past.params) for group in freed for past in group.examples][:3],
    }
