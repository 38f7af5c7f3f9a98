"""The command mcp/test: connect to an upstream server, list what it offers, and disconnect."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.family import ServerId, family
from doorward.command import Example, NoUndo
from doorward.facts import Access, Effects, Safety, Tier
from doorward.upstream import reach


class Tested(TypedDict):
    server: str
    enabled: Annotated[bool, Meta(description="Whether it is also connected outside this test")]
    ok: bool
    problem: Annotated[str, Meta(description="What went wrong; empty if nothing did")]
    seconds: Annotated[float, Meta(description="The time until it listed what it offers")]
    protocolVersion: str
    itself: Annotated[str, Meta(description="The name and version that it reports")]
    tools: list[str]
    resources: int
    prompts: int
    log: Annotated[list[str], Meta(description="Its last log lines")]
    advice: Annotated[list[str], Meta(description="What its entry may lack, if the test failed")]


@family.command(
    "test",
    tier=Tier.SYSTEM,
    effects=Effects.READ | Effects.OPEN_WORLD,
    access=Access.ROOT,
    safety=Safety.CAUTION,
    cost=5,
    timeout=600,
    undo=NoUndo("nothing changes in Doorward; the server may have effects of its own when it starts"),
    examples=[Example("does the server time work", {"server": "time"})],
    related=["mcp/servers", "mcp/logs"],
    humans_only=True,
    house_wide=True,
    tells_how_it_stands=True,
)
async def test_server(ctx: Context, server: ServerId) -> Tested:
    """Test an upstream MCP server: open a new connection, list what the server offers, and disconnect.

    A running server is not disturbed, and a disabled server stays disabled. Only servers in the server file can be
    tested, and only by callers who may add servers.
    """
    began = ctx.house.clock.steady()
    ctx.execution.progress(None, f"connecting to {server}")
    tried = await ctx.house.upstreams.trial(server)
    config = ctx.house.upstreams.get(server).config
    return {
        "server": server,
        "enabled": config.enabled,
        "ok": tried.ok,
        "problem": tried.problem,
        "seconds": round(ctx.house.clock.steady() - began, 3),
        "protocolVersion": tried.protocol_version,
        "itself": tried.calls_itself,
        "tools": list(tried.tools),
        "resources": tried.resources,
        "prompts": tried.prompts,
        "log": list(tried.log),
        "advice": [] if tried.ok else reach.hidden(config, ctx.house.home, ctx.house.servers.environment),
    }
