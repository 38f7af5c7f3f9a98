"""The command mcp/tools: the tools of upstream servers, with their terms and warnings."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp import describing
from doorward.backends.mcp.family import family
from doorward.backends.mcp.tool_command import ToolCommand
from doorward.command import READS_ONLY, Example
from doorward.facts import Access, Effects, Safety, Tier
from doorward.upstream.differences import difference
from doorward.upstream.remarks import remarks
from doorward.upstream.upstreams import Upstreams


class ToolFacts(TypedDict):
    server: str
    tool: Annotated[str, Meta(description="The tool's name on its server")]
    command: Annotated[str, Meta(description="The name of its command")]
    wire: Annotated[str, Meta(description="Its name for models")]
    summary: Annotated[str, Meta(description="A summary in the server's words")]
    tier: Tier
    cost: float
    approval: Annotated[bool, Meta(description="Whether agents and programs need approval for each call")]
    new: Annotated[bool, Meta(description="Whether it needs approval because its server added it later")]
    changed: Annotated[bool, Meta(description="Whether its definition changed since it was approved")]
    difference: Annotated[str, Meta(description="The changes of its definition")]
    withheld: Annotated[str, Meta(description="Why the tool is blocked; empty if it can be run")]
    claims: Annotated[str, Meta(description="The server's claims about its effects, unchecked")]
    warnings: Annotated[list[str], Meta(description="Suspicious texts in its definition")]
    schema: Annotated[dict[str, Any], Meta(description="The JSON Schema of its arguments")]


class ToolList(TypedDict):
    items: list[ToolFacts]
    total: Annotated[int, Meta(description="The total number of tools, including those not shown")]
    problems: Annotated[
        list[str], Meta(description="Problems of servers, whose tools may be missing, and of their entries")
    ]


@family.command(
    "tools",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=60,
    undo=READS_ONLY,
    examples=[
        Example("which tools do MCP servers offer", {}),
        Example("tools about files", {"search": "file", "limit": 20}),
    ],
    related=["mcp/servers", "mcp/call", "mcp/approve"],
    house_wide=True,
    tells_how_it_stands=True,
)
async def list_tools(
    ctx: Context,
    server: Annotated[str, Meta(description="Only tools of this server", max_length=64)] = "",
    search: Annotated[str, Meta(description="Only tools that contain all of these words", max_length=200)] = "",
    limit: Annotated[int, Meta(description="Maximum number of tools", ge=1, le=2_000)] = 200,
) -> ToolList:
    """List the tools of upstream MCP servers that you may call here. People also see blocked tools."""
    upstreams = ctx.house.upstreams
    if server:
        upstreams.get(server)
    await upstreams.look(server)
    words = search.lower().split()
    found = []
    for offer in upstreams.of(server) if server else upstreams.offers:
        command = ctx.house.registry[offer.names.canonical]
        if not isinstance(command, ToolCommand):
            continue
        text = f"{command.name} {offer.definition.name} {command.description}".lower()
        if all(word in text for word in words) and (ctx.caller.kind == "human" or ctx.may(command.name).allowed):
            found.append(command)
    return {
        "items": [await _facts(ctx, command) for command in found[: int(limit)]],
        "total": len(found),
        "problems": [*upstreams.problems(server), *_unseen(upstreams, server), *_remarked(upstreams, server)],
    }


def _unseen(upstreams: Upstreams, server: str) -> list[str]:
    return [
        f"server {one.id}: It is still starting, so its tools are not known yet."
        for one in upstreams
        if one.state == "starting" and not one.definitions and server in ("", one.id)
    ]


def _remarked(upstreams: Upstreams, server: str) -> list[str]:
    return [f"server {one.id}: {remark}" for one in upstreams if server in ("", one.id) for remark in remarks(one)]


async def _facts(ctx: Context, command: ToolCommand) -> ToolFacts:
    offer = command.offer
    changed = difference(await ctx.house.upstreams.approved(offer), offer.shown.whole) if offer.changed else ""
    return {
        "server": offer.upstream.id,
        "tool": offer.definition.name,
        "command": command.name,
        "wire": command.wire,
        "summary": command.summary,
        "tier": offer.tier,
        "cost": offer.cost,
        "approval": command.asks_first,
        "new": offer.new,
        "changed": offer.changed,
        "difference": changed,
        "withheld": command.withheld,
        "claims": describing.claims(offer.definition.annotations),
        "warnings": list(offer.warnings),
        "schema": command.schema,
    }
