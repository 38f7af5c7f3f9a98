"""mcp/logs: what an upstream server wrote beside its messages."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.family import ServerId, family
from doorward.command import READS_ONLY, Example
from doorward.facts import Access, Effects, Safety, Tier


class Written(TypedDict):
    items: Annotated[list[str], Meta(description="The lines, the oldest first")]
    state: Annotated[str, Meta(description="starting, ready, waiting, broken, stopped or disabled")]


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
) -> Written:
    """Show the last lines that an upstream server wrote on its standard error, and what happened to it."""
    upstream = ctx.house.upstreams.get(server)
    return {"items": list(upstream.server.log)[-int(lines) :], "state": upstream.state}
