"""mcp/logs: what an upstream server wrote beside its messages."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.backends.context import Context, Listing, listing
from doorward.backends.mcp.family import ServerId, family
from doorward.command import READS_ONLY, Example
from doorward.facts import Access, Effects, Safety, Tier


@family.command(
    "logs",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.FULL,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("what did the server time write last", {"server": "time", "lines": 20})],
    related=["mcp/servers", "debug/logs"],
    house_wide=True,
    tells_how_it_stands=True,
)
async def show_logs(
    ctx: Context,
    server: ServerId,
    lines: Annotated[int, Meta(description="How many of the last lines", ge=1, le=500)] = 100,
) -> Listing[str]:
    """Show the last lines that an upstream server wrote on its standard error, and what happened to it."""
    return listing(list(ctx.house.upstreams.get(server).server.log)[-int(lines) :])
