"""The command recipe/preview: compare what agents may do under a recipe with what they may do now."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.recipe import (
    DraftText,
    RecipeFault,
    UnusedPatterns,
    find_unused_patterns,
    locate_fault,
    parse_draft,
)
from doorward.commands.room import get_visible_room
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Command, Example, Family
from doorward.core.errors import NotFound
from doorward.core.model import Caller, Kind
from doorward.gate.recipes.policy import Policy, PolicyDecision, PolicyVerdict, decide_verdict
from doorward.gate.recipes.recipe import BadRecipe
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Room

family = Family("recipe", category="rooms")

ANY_AGENT = "any agent"
"""Stands for an agent created later, with the access of the caller."""
_MOST_MEMBERS = 200


class PreviewedDecision(TypedDict):
    """A command whose decision would change."""

    command: str
    was: Annotated[
        PolicyDecision | None, Meta(description="The current decision; null if no recipe with that id exists")
    ]
    would: PolicyDecision
    rule: str
    before: str


class RefusedCommands(TypedDict):
    """Commands refused by the same rule."""

    rule: str
    commands: list[str]


class AgentRights(TypedDict):
    """The rights of a group of agents that have the same rights."""

    who: list[str]
    rooms: Annotated[list[str], Meta(description="The rooms they are members of; empty for any agent")]
    access: str
    changes: list[PreviewedDecision]
    allowed: list[str]
    approval: Annotated[list[str], Meta(description="Commands that need approval")]
    refused: list[RefusedCommands]


class RecipePreview(TypedDict):
    id: str
    valid: bool
    fault: Annotated[
        RecipeFault | None, Meta(description="The error in the text and its position; null if it is valid")
    ]
    known: Annotated[bool, Meta(description="Whether a recipe with that id is in force")]
    rooms: Annotated[list[str], Meta(description="Your rooms that it governs, or the requested room")]
    commands: int
    idle: UnusedPatterns
    items: list[AgentRights]


@family.command(
    "preview",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[
        Example("what may everybody do under the support recipe", {"id": "support"}),
        Example(
            "what would change if nothing were allowed",
            {"id": "support", "text": '{"recipeId": "support", "displayName": "Quiet", "strategy": {}}'},
        ),
    ],
    related=["recipe/diff", "recipe/put", "recipe/show"],
    humans_only=True,
    is_status_poll=True,
)
async def preview(
    ctx: Context,
    id: Annotated[str, Meta(description="The recipe's id", pattern=r"^[a-z][a-z0-9-]{0,62}$")],
    text: DraftText = "",
    in_room: Annotated[
        str, Meta(description="As if it governed this room; if omitted, all rooms that it governs", max_length=63)
    ] = "",
) -> RecipePreview:
    """Show what each agent may do under a recipe, and what would change. This changes nothing.

    For an invalid text, the result holds the error and its position, for editors.
    """
    in_force = ctx.services.recipes.policy(id)
    rooms = _select_rooms(ctx, id, in_room)
    shown: RecipePreview = {
        "id": id,
        "valid": True,
        "fault": None,
        "known": in_force is not None,
        "rooms": [one.id for one in rooms],
        "commands": len(_list_commands(ctx)),
        "idle": [],
        "items": [],
    }
    if not text and in_force is None:
        names = ", ".join(one.recipe_id for one in ctx.services.recipes.recipes())
        raise NotFound(f"There is no recipe {id!r}. Recipes: {names}.")
    try:
        new = parse_draft(id, text) if text else in_force
    except BadRecipe as error:
        return {**shown, "valid": False, "fault": locate_fault(text, error)}
    if new is not None:
        shown["idle"] = find_unused_patterns(new.recipe, (one.name for one in _list_commands(ctx)))
        old = ctx.services.recipes.policy(rooms[0].recipe) if in_room else in_force
        shown["items"] = _group_rights(ctx, new, old, _list_agents(ctx, rooms))
    return shown


class _Agent(msgspec.Struct, frozen=True):
    name: str
    caller: Caller
    rooms: tuple[str, ...]


def _select_rooms(ctx: Context, id: str, room: str) -> list[Room]:
    """The rooms to preview: the given room, or the rooms of the recipe that the caller may see."""
    caller, rooms = ctx.caller, ctx.services.rooms
    if room:
        return [get_visible_room(ctx, room)]
    governed = [one for one in rooms.of_tenant(caller.tenant) if one.recipe == id and not one.archived]
    return sorted((one for one in governed if one.is_known_to(caller)), key=lambda one: one.id)


def _list_agents(ctx: Context, rooms: list[Room]) -> list[_Agent]:
    """The members of these rooms that are not people, and one that stands for any future agent."""
    where: dict[str, list[str]] = {}
    kinds = {}
    for room in rooms:
        for member in room.members.values():
            if member.kind != "human" and (member.id in where or len(where) < _MOST_MEMBERS):
                where.setdefault(member.id, []).append(room.id)
                kinds[member.id] = member.kind
    asker = ctx.caller
    found = [_Agent(ANY_AGENT, Caller(asker.tenant, "", "ai", asker.access, asker.id), ())]
    for id, names in sorted(where.items()):
        found.append(_Agent(id, _member_caller(ctx, id, kinds[id]), tuple(names)))
    return found


def _member_caller(ctx: Context, id: str, kind: Kind) -> Caller:
    """The caller that a member would be at the gate. With unknown access, it gets that of the current caller."""
    tenant = ctx.caller.tenant
    persona = ctx.services.personas.get(tenant, id)
    if persona is not None:
        return persona.caller
    user = ctx.services.people.get(tenant, id)
    return Caller(tenant, id, kind, user.access if user is not None else ctx.caller.access)


def _list_commands(ctx: Context) -> list[Command]:
    """The commands of this tenant. Private commands exist only for the local tenant."""
    own = ctx.caller.tenant == LOCAL
    return sorted((one for one in ctx.services.registry if own or not one.private), key=lambda one: one.name)


def _group_rights(ctx: Context, new: Policy, old: Policy | None, agents: list[_Agent]) -> list[AgentRights]:
    """The rights of the agents, grouped by equal rights."""
    alike: dict[tuple[str, Access], list[_Agent]] = {}
    for agent in agents:
        alike.setdefault((agent.caller.kind, agent.caller.access), []).append(agent)
    return [_rights(ctx, new, old, some) for some in alike.values()]


def _rights(ctx: Context, new: Policy, old: Policy | None, alike: list[_Agent]) -> AgentRights:
    caller = alike[0].caller
    changes: list[PreviewedDecision] = []
    by: dict[PolicyDecision, list[str]] = {"allowed": [], "approval": [], "refused": []}
    barred: dict[str, list[str]] = {}
    for command in _list_commands(ctx):
        would = _get_verdict(ctx, caller, command, new)
        was = _get_verdict(ctx, caller, command, old) if old is not None else None
        by[would.decision].append(command.name)
        if would.decision == "refused":
            barred.setdefault(would.rule, []).append(command.name)
        if (was.decision if was else "refused") != would.decision:
            changes.append(
                {
                    "command": command.name,
                    "was": was.decision if was else None,
                    "would": would.decision,
                    "rule": would.rule,
                    "before": was.rule if was else "",
                }
            )
    return {
        "who": [one.name for one in alike],
        "rooms": sorted({name for one in alike for name in one.rooms}),
        "access": caller.access.label,
        "changes": changes,
        "allowed": by["allowed"],
        "approval": by["approval"],
        "refused": [{"rule": rule, "commands": names} for rule, names in barred.items()],
    }


def _get_verdict(ctx: Context, caller: Caller, command: Command, policy: Policy) -> PolicyVerdict:
    return decide_verdict(policy, command, caller.kind, ctx.services.preview_ruling(caller, command, policy))
