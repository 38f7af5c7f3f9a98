"""mcp/approve: a person looks at a tool's definition that changed, or is new, and stands behind it."""

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
"""How many names a sentence lists."""

ToolName = Annotated[str, Meta(description="Only this tool; left out, all that wait", max_length=256)]
Mark = Annotated[
    str,
    Meta(description="The mark that the dry run gave, so that nothing else than was shown is approved", max_length=64),
]


class Waiting(TypedDict):
    tool: str
    command: str
    why: Annotated[str, Meta(description="changed: its definition is another than was approved; new: it came later")]
    difference: Annotated[str, Meta(description="What changed, or all of it when it is new")]
    warnings: Annotated[list[str], Meta(description="What in its words looks meant to mislead")]
    withheld: Annotated[str, Meta(description="Why nobody may run it even when it is approved; empty when one may")]


class Approved(TypedDict):
    server: str
    tools: list[Waiting]
    mark: Annotated[str, Meta(description="Stands for exactly these definitions")]


@family.command(
    "approve",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=10,
    undo=NoUndo("what was approved is in the record; a tool is taken out of use by denyTools in the file"),
    examples=[Example("the changed tool add of server time is fine", {"server": "time", "tool": "add"})],
    related=["mcp/tools", "mcp/servers"],
    humans_only=True,
    house_wide=True,
)
async def approve(ctx: Context, server: ServerId, tool: ToolName = "", mark: Mark = "") -> Approved:
    """Approve definitions of tools that changed since they were approved, or that a known server added.

    A dry run shows the difference, and gives a mark for it: approving with that mark is refused when a definition
    changed once more in the meantime.
    """
    waiting = _waiting(ctx, server, tool)
    if not waiting:
        raise NotFound(f"Nothing of server {server}{f' called {tool[:60]!r}' if tool else ''} waits for approval.")
    shown = await _shown(ctx, server, waiting)
    if mark and mark != shown["mark"]:
        raise Conflict(
            f"Definitions of server {server} changed again since they were shown; nothing was approved.",
            hint=f"Look again: doorward servers approve {server}",
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
            raise NotFound(f"What the server {server} offers is not known yet; see it: doorward servers tools {server}")
        raise NotFound(f"The server {server} has no tool {tool[:60]!r}; it has: {there}.")
    return [one for one in offers if (one.changed or one.new) and tool in ("", one.definition.name)]


def _why_not(ctx: Context, offer: ToolOffer) -> str:
    """What keeps people from running a tool beside that it changed."""
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
