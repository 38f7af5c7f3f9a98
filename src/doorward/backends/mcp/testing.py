"""mcp/test: connect to an upstream server, look what it offers, and leave."""

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
    enabled: Annotated[bool, Meta(description="Whether it is connected beside this test")]
    ok: bool
    problem: Annotated[str, Meta(description="What went wrong, or is not as it should be; empty when nothing is")]
    seconds: Annotated[float, Meta(description="How long it took to say what it offers")]
    protocolVersion: str
    itself: Annotated[str, Meta(description="Its name and version, by its own word")]
    tools: list[str]
    resources: int
    prompts: int
    log: Annotated[list[str], Meta(description="The last lines that it wrote")]
    advice: Annotated[list[str], Meta(description="What its entry may lack, where it does not work")]


@family.command(
    "test",
    tier=Tier.SYSTEM,
    effects=Effects.READ | Effects.OPEN_WORLD,
    access=Access.ROOT,
    safety=Safety.CAUTION,
    cost=5,
    timeout=600,
    undo=NoUndo("it changes nothing here; what a server does when it starts is its own affair"),
    examples=[Example("does the server time work", {"server": "time"})],
    related=["mcp/servers", "mcp/logs"],
    humans_only=True,
    house_wide=True,
    tells_how_it_stands=True,
)
async def test_server(ctx: Context, server: ServerId) -> Tested:
    """Connect to an upstream server of the file afresh, list what it offers, and disconnect.

    A server that runs is left alone, and one that is disabled stays so. Only servers of the file can be tested, and
    only by whoever might add one.
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
