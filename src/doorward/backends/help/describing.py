"""The command help/describe: the declaration of a command."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.help.family import MOST_NAMED, family
from doorward.command import READS_ONLY, Command, Example, Undo
from doorward.errors import NotPermitted, UnknownCommand
from doorward.facts import Access, Effects, Safety, Tier
from doorward.rooms.people import LOCAL


class Use(TypedDict):
    says: Annotated[str, Meta(description="The purpose of the example")]
    params: Annotated[dict[str, Any], Meta(description="The parameters of the example")]


class Described(TypedDict):
    name: str
    summary: str
    description: str
    usage: Annotated[str, Meta(description="Its parameters on one line")]
    category: str
    tier: Tier
    effects: list[str]
    access: Annotated[str, Meta(description="The access level that the caller needs")]
    safety: Safety
    cost: float
    timeoutSeconds: float
    undo: Annotated[str, Meta(description="yes, or no and why")]
    humansOnly: bool
    houseWide: bool
    examples: list[Use]
    related: list[str]
    secret: Annotated[list[str], Meta(description="Parameters whose values are never recorded")]
    schema: Annotated[dict[str, Any], Meta(description="The JSON Schema of its parameters")]
    returns: Annotated[dict[str, Any] | None, Meta(description="The JSON Schema of its result, if it declares one")]


@family.command(
    "describe",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("how is data/list used", {"command": "data/list"})],
    related=["help/search"],
)
async def describe(
    ctx: Context, command: Annotated[str, Meta(description="The command's name", min_length=1, max_length=200)]
) -> Described:
    """Describe a command you may run here: parameters, effects, examples, undo."""
    offered = [one.name for one in ctx.house.offered(ctx.caller, ctx.call.room)]
    inside = [name for name in offered if name.startswith(f"{command.strip('/')}/")]
    if inside and command not in ctx.house.registry:
        raise UnknownCommand(
            f"{command.strip('/')} is a namespace, not a command. It has {len(inside)} commands: "
            f"{', '.join(inside[:MOST_NAMED])}{', …' if len(inside) > MOST_NAMED else ''}.",
            hint=f"Search in it: help/search --namespace={command.strip('/')}",
        )
    found = ctx.house.registry.resolve(command, offered, private=ctx.caller.tenant == LOCAL)
    ruling = ctx.may(found.name)
    if not ruling.allowed:
        raise NotPermitted(ruling.reason, rule=ruling.rule)
    return described(found)


def described(command: Command) -> Described:
    """Describe a command's declaration as data."""
    facts = command.facts
    return {
        "name": command.name,
        "summary": command.summary,
        "description": command.description,
        "usage": command.usage,
        "category": command.category,
        "tier": facts.tier,
        "effects": facts.effects.names,
        "access": facts.access.label,
        "safety": facts.safety,
        "cost": facts.cost,
        "timeoutSeconds": facts.timeout,
        "undo": "yes" if isinstance(facts.undo, Undo) else f"no: {facts.undo.why}",
        "humansOnly": facts.humans_only,
        "houseWide": facts.house_wide,
        "examples": [{"says": one.says, "params": dict(one.params)} for one in facts.examples],
        "related": list(facts.related),
        "secret": sorted(command.secret),
        "schema": command.schema,
        "returns": command.returns,
    }
