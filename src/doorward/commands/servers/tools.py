"""Commands mcp/tools and mcp/approve: the tools of upstream servers, and the approval of their definitions."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.servers import tool_description
from doorward.commands.servers.family import ServerId, family
from doorward.commands.servers.tool_command import ToolCommand
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, NoUndo
from doorward.core.errors import Conflict, NotFound
from doorward.core.escape_invisible import escape_invisible
from doorward.upstream.tool_definitions import render_difference
from doorward.upstream.tool_offers import ToolOffer, find_unknown_names
from doorward.upstream.upstreams import Upstreams


class ToolFacts(TypedDict):
    server: str
    tool: Annotated[str, Meta(description="The tool's name on its server")]
    command: Annotated[str, Meta(description="The name of its command")]
    wire: Annotated[str, Meta(description="Its name for models")]
    summary: Annotated[str, Meta(description="A summary in the server's words")]
    tier: Tier
    cost: float
    estimatedEnergyCost: Annotated[
        float | None, Meta(description="What a call costs, learned from its last calls; null if there were none")
    ]
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
    server_wide=True,
    is_status_poll=True,
)
async def list_tools(
    ctx: Context,
    server: Annotated[str, Meta(description="Only tools of this server", max_length=64)] = "",
    search: Annotated[str, Meta(description="Only tools that contain all of these words", max_length=200)] = "",
    limit: Annotated[int, Meta(description="Maximum number of tools", ge=1, le=2_000)] = 200,
) -> ToolList:
    """List the tools of upstream MCP servers that you may call here. People also see blocked tools."""
    upstreams = ctx.services.upstreams
    if server:
        upstreams.get(server)
    await upstreams.discover(server)
    words = search.lower().split()
    found = []
    for offer in upstreams.offers_of(server) if server else upstreams.offers:
        command = ctx.services.registry[offer.names.canonical]
        if not isinstance(command, ToolCommand):
            continue
        text = f"{command.name} {offer.definition.name} {command.description}".lower()
        if all(word in text for word in words) and (ctx.caller.kind == "human" or ctx.get_ruling(command.name).allowed):
            found.append(command)
    return {
        "items": [await _describe_tool(ctx, command) for command in found[: int(limit)]],
        "total": len(found),
        "problems": [
            *upstreams.problems(server),
            *_starting_problems(upstreams, server),
            *_remark_problems(upstreams, server),
        ],
    }


def _starting_problems(upstreams: Upstreams, server: str) -> list[str]:
    return [
        f"server {one.id}: It is still starting, so its tools are not known yet."
        for one in upstreams
        if one.state == "starting" and not one.definitions and server in ("", one.id)
    ]


def _remark_problems(upstreams: Upstreams, server: str) -> list[str]:
    return [
        f"server {one.id}: {remark}"
        for one in upstreams
        if server in ("", one.id)
        for remark in find_unknown_names(one)
    ]


async def _describe_tool(ctx: Context, command: ToolCommand) -> ToolFacts:
    offer = command.offer
    changed = (
        render_difference(await ctx.services.upstreams.get_approved(offer), offer.public_definition.whole)
        if offer.is_changed
        else ""
    )
    return {
        "server": offer.upstream.id,
        "tool": offer.definition.name,
        "command": command.name,
        "wire": command.wire,
        "summary": command.summary,
        "tier": offer.tier,
        "cost": offer.cost,
        "estimatedEnergyCost": ctx.services.energy.estimate(ctx.caller.tenant, command.name),
        "approval": command.asks_first,
        "new": offer.new,
        "changed": offer.is_changed,
        "difference": changed,
        "withheld": command.withheld,
        "claims": tool_description.describe_claims(offer.definition.annotations),
        "warnings": list(offer.warnings),
        "schema": command.schema,
    }


_MAX_NAMES = 30
"""The maximum number of names in a message."""

ToolName = Annotated[str, Meta(description="Only this tool; all waiting tools if omitted", max_length=256)]
Mark = Annotated[
    str,
    Meta(description="The mark from the dry run, so that only the shown definitions are approved", max_length=64),
]


class WaitingTool(TypedDict):
    tool: str
    command: str
    why: Annotated[str, Meta(description="changed: its definition changed since it was approved; new: added later")]
    difference: Annotated[str, Meta(description="The changes, or the whole definition of a new tool")]
    warnings: Annotated[list[str], Meta(description="Suspicious texts in its definition")]
    withheld: Annotated[str, Meta(description="Why the tool stays blocked even when approved; empty if it can run")]


class ToolApproval(TypedDict):
    server: str
    tools: list[WaitingTool]
    mark: Annotated[str, Meta(description="Identifies exactly these definitions")]


@family.command(
    "approve",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=10,
    undo=NoUndo("to block the tool again, add it to denyTools in the server file"),
    examples=[Example("approve the changed tool add of the server time", {"server": "time", "tool": "add"})],
    related=["mcp/tools", "mcp/servers"],
    humans_only=True,
    server_wide=True,
    widens_access=True,
)
async def approve(ctx: Context, server: ServerId, tool: ToolName = "", mark: Mark = "") -> ToolApproval:
    """Approve tool definitions that changed since they were approved, or that a known server added.

    A dry run shows the changes and returns a mark for them. With that mark, the approval is refused if a definition
    has changed again.
    """
    waiting = _waiting_offers(ctx, server, tool)
    if not waiting:
        raise NotFound(f"No tool{f' {tool[:60]!r}' if tool else ''} of server {server} is waiting for approval.")
    shown = await _describe_offers(ctx, server, waiting)
    if mark and mark != shown["mark"]:
        raise Conflict(
            f"Definitions of server {server} have changed since they were shown. Nothing was approved.",
            hint=f"Check them again: doorward servers approve {server}",
        )
    await ctx.services.upstreams.approve(server, waiting)
    for told, offer in zip(shown["tools"], waiting, strict=True):
        told["withheld"] = _other_block(ctx, offer)
    return shown


@approve.describes_effect
async def show_waiting(ctx: Context, server: str, tool: str = "", mark: str = "") -> ToolApproval:
    return await _describe_offers(ctx, server, _waiting_offers(ctx, server, tool))


def _waiting_offers(ctx: Context, server: str, tool: str) -> list[ToolOffer]:
    known = ctx.services.upstreams.get(server).definitions
    offers = ctx.services.upstreams.offers_of(server)
    if tool and tool not in [one.name for one in known]:
        names = [escape_invisible(one.name, lines=False) for one in known]
        there = ", ".join(names[:_MAX_NAMES])
        if len(names) > _MAX_NAMES:
            there += f" and {len(names) - _MAX_NAMES} more"
        if not there:
            raise NotFound(f"The tools of server {server} are not known yet.", hint=f"doorward servers tools {server}")
        raise NotFound(f"The server {server} has no tool {tool[:60]!r}. Tools: {there}.")
    return [one for one in offers if (one.is_changed or one.new) and tool in ("", one.definition.name)]


def _other_block(ctx: Context, offer: ToolOffer) -> str:
    """Why a tool is blocked, apart from the change that waits for approval."""
    withheld = ctx.services.registry[offer.names.canonical].withheld
    return "" if withheld == offer.withheld else withheld


async def _describe_offers(ctx: Context, server: str, waiting: list[ToolOffer]) -> ToolApproval:
    tools: list[WaitingTool] = []
    for offer in waiting:
        before = await ctx.services.upstreams.get_approved(offer) if offer.is_changed else {}
        tools.append(
            {
                "tool": offer.definition.name,
                "command": offer.names.canonical,
                "why": "changed" if offer.is_changed else "new",
                "difference": render_difference(before, offer.public_definition.whole),
                "warnings": list(offer.warnings),
                "withheld": _other_block(ctx, offer),
            }
        )
    digests = sorted(f"{offer.definition.name}\n{offer.definition.digest}" for offer in waiting)
    return {"server": server, "tools": tools, "mark": hashlib.sha256("\n".join(digests).encode()).hexdigest()[:32]}
