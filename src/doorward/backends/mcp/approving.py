"""The command mcp/approve: approve new and changed definitions of tools."""

from __future__ import annotations

import hashlib
from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.family import ServerId, family
from doorward.command import Example, NoUndo
from doorward.errors import Conflict, NotFound
from doorward.facts import Access, Effects, Safety, Tier
from doorward.upstream.differences import difference
from doorward.upstream.offering import ToolOffer
from doorward.visible import visible

_MOST = 30
"""The maximum number of names in a message."""

ToolName = Annotated[str, Meta(description="Only this tool; all waiting tools if omitted", max_length=256)]
Mark = Annotated[
    str,
    Meta(description="The mark from the dry run, so that only the shown definitions are approved", max_length=64),
]


class Waiting(TypedDict):
    tool: str
    command: str
    why: Annotated[str, Meta(description="changed: its definition changed since it was approved; new: added later")]
    difference: Annotated[str, Meta(description="The changes, or the whole definition of a new tool")]
    warnings: Annotated[list[str], Meta(description="Suspicious texts in its definition")]
    withheld: Annotated[str, Meta(description="Why the tool stays blocked even when approved; empty if it can run")]


class Approved(TypedDict):
    server: str
    tools: list[Waiting]
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
    house_wide=True,
)
async def approve(ctx: Context, server: ServerId, tool: ToolName = "", mark: Mark = "") -> Approved:
    """Approve tool definitions that changed since they were approved, or that a known server added.

    A dry run shows the changes and returns a mark for them. With that mark, the approval is refused if a definition
    has changed again.
    """
    waiting = _waiting(ctx, server, tool)
    if not waiting:
        raise NotFound(f"No tool{f' {tool[:60]!r}' if tool else ''} of server {server} is waiting for approval.")
    shown = await _shown(ctx, server, waiting)
    if mark and mark != shown["mark"]:
        raise Conflict(
            f"Definitions of server {server} have changed since they were shown. Nothing was approved.",
            hint=f"Check them again: doorward servers approve {server}",
        )
    await ctx.house.upstreams.approve(server, waiting)
    for told, offer in zip(shown["tools"], waiting, strict=True):
        told["withheld"] = _why_not(ctx, offer)
    return shown


@approve.shows_effect
async def show_waiting(ctx: Context, server: str, tool: str = "", mark: str = "") -> Approved:
    return await _shown(ctx, server, _waiting(ctx, server, tool))


def _waiting(ctx: Context, server: str, tool: str) -> list[ToolOffer]:
    known = ctx.house.upstreams.get(server).definitions
    offers = ctx.house.upstreams.of(server)
    if tool and tool not in [one.name for one in known]:
        names = [visible(one.name, lines=False) for one in known]
        there = f"{', '.join(names[:_MOST])}{f' and {len(names) - _MOST} more' if len(names) > _MOST else ''}"
        if not there:
            raise NotFound(f"The tools of server {server} are not known yet.", hint=f"doorward servers tools {server}")
        raise NotFound(f"The server {server} has no tool {tool[:60]!r}. Tools: {there}.")
    return [one for one in offers if (one.changed or one.new) and tool in ("", one.definition.name)]


def _why_not(ctx: Context, offer: ToolOffer) -> str:
    """Why a tool is blocked, apart from the change that waits for approval."""
    withheld = ctx.house.registry[offer.names.canonical].withheld
    return "" if withheld == offer.withheld else withheld


async def _shown(ctx: Context, server: str, waiting: list[ToolOffer]) -> Approved:
    tools: list[Waiting] = []
    for offer in waiting:
        before = await ctx.house.upstreams.approved(offer) if offer.changed else {}
        tools.append(
            {
                "tool": offer.definition.name,
                "command": offer.names.canonical,
                "why": "changed" if offer.changed else "new",
                "difference": difference(before, offer.shown.whole),
                "warnings": list(offer.warnings),
                "withheld": _why_not(ctx, offer),
            }
        )
    digests = sorted(f"{offer.definition.name}\n{offer.definition.digest}" for offer in waiting)
    return {"server": server, "tools": tools, "mark": hashlib.sha256("\n".join(digests).encode()).hexdigest()[:32]}
