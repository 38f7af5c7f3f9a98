"""The command mcp/logs: the standard error output of an upstream server."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.family import ServerId, family
from doorward.command import READS_ONLY, Example
from doorward.facts import Access, Effects, Safety, Tier


class Written(TypedDict):
    items: Annotated[list[str], Meta(description="The lines, oldest first")]
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
    examples=[Example("the last log lines of the server time", {"server": "time", "lines": 20})],
    related=["mcp/servers", "debug/logs"],
    house_wide=True,
    tells_how_it_stands=True,
)
async def show_logs(
    ctx: Context,
    server: ServerId,
    lines: Annotated[int, Meta(description="Number of lines from the end", ge=1, le=500)] = 100,
) -> Written:
    """Show the last log lines of an upstream MCP server: its standard error output, starts and stops."""
    upstream = ctx.house.upstreams.get(server)
    return {"items": list(upstream.server.log)[-int(lines) :], "state": upstream.state}
