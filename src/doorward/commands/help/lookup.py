"""Commands help/search and help/describe: find commands, and show their declaration."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from doorward.commands.context import Context, Listing
from doorward.commands.help.family import MOST_NAMED, AllowedCommands, family, format_namespaces
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Command, Example, Undo, shorten
from doorward.core.errors import BadParams, NotFound, NotPermitted, UnknownCommand
from doorward.rooms.people import LOCAL

_FEW, _MANY = 5, 100
"""The default limits: for a query, and for a whole namespace."""
_MOST_FOUND = 100
"""The maximum number of hits. Later hits are not close to the query."""

Ranking = Literal["words", "words and meaning", "name"]


class CommandHit(TypedDict):
    command: str
    summary: str
    usage: Annotated[str, Meta(description="Its parameters on one line")]
    score: Annotated[float, Meta(description="Relevance from 0 to 1")]
    reason: Annotated[str, Meta(description="Which words of the query match; empty without a query")]


class CommandHits(Listing[CommandHit]):
    total: Annotated[int, Meta(description="The total number of results; at most 100 for a query")]
    next: Annotated[int | None, Meta(description="The offset of the next page; null on the last page")]
    ranking: Annotated[Ranking, Meta(description="The sort order")]


@family.command(
    "search",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[
        Example("how do I read a file", {"query": "read a file"}),
        Example("which commands are there for files", {"namespace": "file"}),
    ],
    related=["help/describe", "help/suggest"],
)
async def search(
    ctx: Context,
    query: Annotated[str, Meta(description="What you want to do, in a few words", max_length=500)] = "",
    limit: Annotated[
        int, Meta(description="Maximum number of commands; 0 means 5, or 100 without a query", ge=0, le=100)
    ] = 0,
    namespace: Annotated[
        str,
        Meta(description="Only this namespace, such as mcp/github; without a query, all of it", max_length=100),
    ] = "",
    offset: Annotated[int, Meta(description="Offset from `next` of the previous page", ge=0, le=1_000_000)] = 0,
) -> CommandHits:
    """Find commands for a purpose among those you may run here, best first."""
    within = namespace.strip("/")
    if not query.strip() and not within:
        raise BadParams("help/search needs a query or a namespace. Both are empty.")
    ranking: Ranking = "name"
    if query.strip():
        await ctx.services.index.ready()
        if within and not _namespace_exists(ctx, within):
            raise _unknown_namespace(ctx, namespace)
        hits = ctx.services.index.hits(
            query, AllowedCommands(ctx, within), _MOST_FOUND, ctx.caller.tenant, meaning=True
        )
        found = [(hit.command, hit.score, hit.why) for hit in hits]
        ranking = ctx.services.index.ranking
    else:
        found = [(name, 1.0, "") for name in _list_namespace(ctx, within)]
        if not found:
            raise _unknown_namespace(ctx, namespace)
    end = offset + (limit or (_FEW if query.strip() else _MANY))
    return {
        "items": [_describe_hit(ctx, *one) for one in found[offset:end]],
        "total": len(found),
        "next": end if end < len(found) else None,
        "ranking": ranking,
    }


def _list_namespace(ctx: Context, within: str) -> list[str]:
    inside = sorted(one.name for one in ctx.services.registry if one.name.startswith(f"{within}/"))
    return [name for name in inside if ctx.get_ruling(name).allowed]


def _namespace_exists(ctx: Context, within: str) -> bool:
    return any(one.name.startswith(f"{within}/") and ctx.get_ruling(one.name).allowed for one in ctx.services.registry)


def _unknown_namespace(ctx: Context, namespace: str) -> NotFound:
    offered = ctx.services.offered(ctx.caller, ctx.call.room)
    return NotFound(f"There is no namespace {shorten(namespace)} for you here. {format_namespaces(offered)}.")


def _describe_hit(ctx: Context, name: str, score: float, why: str) -> CommandHit:
    command = ctx.services.registry[name]
    return {"command": name, "summary": command.summary, "usage": command.usage, "score": score, "reason": why}


class CommandExample(TypedDict):
    says: Annotated[str, Meta(description="The purpose of the example")]
    params: Annotated[dict[str, Any], Meta(description="The parameters of the example")]


class CommandDescription(TypedDict):
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
    estimatedEnergyCost: Annotated[
        float | None, Meta(description="The energy of a run, learned from its last runs; null if it never ran")
    ]
    timeoutSeconds: float
    undo: Annotated[str, Meta(description="yes, or no and why")]
    humansOnly: bool
    houseWide: bool
    examples: list[CommandExample]
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
) -> CommandDescription:
    """Describe a command you may run here: parameters, effects, examples, undo."""
    offered = [one.name for one in ctx.services.offered(ctx.caller, ctx.call.room)]
    inside = [name for name in offered if name.startswith(f"{command.strip('/')}/")]
    if inside and command not in ctx.services.registry:
        raise UnknownCommand(
            f"{command.strip('/')} is a namespace, not a command. It has {len(inside)} commands: "
            f"{', '.join(inside[:MOST_NAMED])}{', …' if len(inside) > MOST_NAMED else ''}.",
            hint=f"Search in it: help/search --namespace={command.strip('/')}",
        )
    found = ctx.services.registry.resolve(command, offered, private=ctx.caller.tenant == LOCAL)
    ruling = ctx.get_ruling(found.name)
    if not ruling.allowed:
        raise NotPermitted(ruling.reason, rule=ruling.rule)
    return describe_command(found, ctx.services.energy.estimate(ctx.caller.tenant, found.name))


def describe_command(command: Command, estimate: float | None) -> CommandDescription:
    """Describe a command's declaration as data, with an estimate of its energy."""
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
        "estimatedEnergyCost": estimate,
        "timeoutSeconds": facts.timeout,
        "undo": "yes" if isinstance(facts.undo, Undo) else f"no: {facts.undo.why}",
        "humansOnly": facts.humans_only,
        "houseWide": facts.server_wide,
        "examples": [{"says": one.says, "params": dict(one.params)} for one in facts.examples],
        "related": list(facts.related),
        "secret": sorted(command.secret),
        "schema": command.schema,
        "returns": command.returns,
    }
