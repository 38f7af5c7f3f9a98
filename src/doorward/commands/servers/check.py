"""The command mcp/test: connect to a server, list what it offers, and try its read-only tools."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.servers.family import ServerId, family
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Command, Example, NoUndo
from doorward.core.errors import NotPermitted
from doorward.gate.authorizer import find_required_terms
from doorward.upstream import inferred_grants
from doorward.upstream.sample_arguments import make_arguments
from doorward.upstream.tool_offers import ToolOffer

_MOST_CALLS = 20


class ToolTest(TypedDict):
    tool: str
    result: Annotated[
        Literal["ok", "failed", "skipped"], Meta(description="ok: it answered; skipped: it was not called")
    ]
    arguments: Annotated[dict[str, Any], Meta(description="The sample arguments, made from its schema")]
    latencyMs: Annotated[float | None, Meta(description="The time of the call; null if it was not called")]
    problem: Annotated[str, Meta(description="Why it failed or was skipped")]
    execution: Annotated[str, Meta(description="The nested call in the record; empty if there is none")]


class ServerTest(TypedDict):
    server: str
    enabled: Annotated[bool, Meta(description="Whether it is also connected outside this test")]
    ok: Annotated[bool, Meta(description="Whether it connected, and no tool failed")]
    problem: Annotated[str, Meta(description="What went wrong; empty if nothing did")]
    seconds: Annotated[float, Meta(description="The time until it listed what it offers")]
    protocolVersion: str
    itself: Annotated[str, Meta(description="The name and version that it reports")]
    tools: list[str]
    resources: int
    prompts: int
    log: Annotated[list[str], Meta(description="Its last log lines, for callers with full access")]
    advice: Annotated[list[str], Meta(description="What its entry may lack, if the test failed")]
    calls: Annotated[list[ToolTest], Meta(description="The tools that were called or skipped, with `calls`")]


@family.command(
    "test",
    tier=Tier.SYSTEM,
    effects=Effects.READ | Effects.OPEN_WORLD,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=5,
    timeout=600,
    undo=NoUndo("nothing changes in Doorward; the server may have effects of its own when it starts"),
    examples=[
        Example("does the server time work", {"server": "time"}),
        Example("try the read-only tools of the server time", {"server": "time", "calls": True}),
    ],
    related=["mcp/servers", "mcp/logs"],
    server_wide=True,
    is_status_poll=True,
)
async def check_server(
    ctx: Context,
    server: ServerId,
    calls: Annotated[
        bool, Meta(description="Also call the tools that the server marks as read-only, with sample arguments")
    ] = False,
) -> ServerTest:
    """Test an upstream MCP server: open a new connection, list what the server offers, and disconnect.

    A running server is not disturbed. A disabled server stays disabled, and only people with root access can test it.
    With `calls`, each call of a tool passes the gate as its own; calls that need approval are skipped.
    """
    upstreams = ctx.services.upstreams
    config = upstreams.get(server).config
    if not config.enabled and (ctx.caller.kind != "human" or ctx.caller.access < Access.ROOT):
        raise NotPermitted(f"The server {server} is disabled. Only people with root access may test it.")
    began = ctx.services.clock.steady()
    ctx.execution.progress(0.0, f"connecting to {server}")
    tried = await upstreams.test(server)
    seconds = round(ctx.services.clock.steady() - began, 3)
    called = await _call_tools(ctx, server) if calls and tried.ok and config.enabled else []
    failed = [one for one in called if one["result"] == "failed"]
    problem = tried.problem
    if failed:
        problem = f"{len(failed)} of {len(called)} tools failed; {failed[0]['tool']}: {failed[0]['problem']}"
    environment = ctx.services.servers.environment
    return {
        "server": server,
        "enabled": config.enabled,
        "ok": tried.ok and not failed,
        "problem": problem,
        "seconds": seconds,
        "protocolVersion": tried.protocol_version,
        "itself": tried.calls_itself,
        "tools": list(tried.tools),
        "resources": tried.resources,
        "prompts": tried.prompts,
        "log": list(tried.log) if ctx.caller.access >= Access.FULL else [],
        "advice": [] if tried.ok else inferred_grants.find_hidden_paths(config, ctx.services.home, environment),
        "calls": called,
    }


async def _call_tools(ctx: Context, server: str) -> list[ToolTest]:
    """Call each read-only tool once. Their servers say which are read-only; the gate decides on every call."""
    await ctx.services.upstreams.discover(server)
    offers = ctx.services.upstreams.offers_of(server)
    chosen = [offer for offer in offers if (offer.definition.annotations or {}).get("readOnlyHint") is True]
    found = []
    for place, offer in enumerate(chosen[:_MOST_CALLS]):
        ctx.execution.progress((place + 1) / (len(chosen) + 1), f"calling {offer.definition.name}")
        found.append(await _call_tool(ctx, offer))
    return found + [
        _report(offer, "skipped", {}, f"only the first {_MOST_CALLS} tools are called")
        for offer in chosen[_MOST_CALLS:]
    ]


async def _call_tool(ctx: Context, offer: ToolOffer) -> ToolTest:
    command = ctx.services.registry[offer.names.canonical]
    arguments = make_arguments(offer.definition.input_schema)
    why = _find_obstacle(ctx, command, arguments)
    if why:
        return _report(offer, "skipped", arguments, why)
    began = ctx.services.clock.steady()
    outcome = await ctx.services.run_nested(ctx.call, command.name, arguments)
    spent = round((ctx.services.clock.steady() - began) * 1_000, 1)
    if outcome.status == "done":
        return _report(offer, "ok", arguments, "", spent, outcome.call)
    if outcome.status == "failed":
        return _report(offer, "failed", arguments, outcome.message, spent, outcome.call)
    return _report(offer, "skipped", arguments, outcome.message, None, outcome.call)


def _find_obstacle(ctx: Context, command: Command, arguments: dict[str, Any]) -> str:
    """Why a tool is not called: nobody is asked for an approval because of a test."""
    ruling = ctx.get_ruling(command.name)
    if not ruling.allowed:
        return ruling.reason
    services, room = ctx.services, ctx.services.rooms.get(ctx.caller.tenant, ctx.call.room)
    policy = services.recipes.policy(room.recipe) if room is not None else None
    if (
        find_required_terms(ctx.caller, policy, command, arguments, services.settings.keeper.approve_seconds)
        is not None
    ):
        return "the call needs approval"
    return ""


def _report(
    offer: ToolOffer,
    result: Literal["ok", "failed", "skipped"],
    arguments: dict[str, Any],
    problem: str,
    latency: float | None = None,
    execution: str = "",
) -> ToolTest:
    return {
        "tool": offer.definition.name,
        "result": result,
        "arguments": arguments,
        "latencyMs": latency,
        "problem": problem,
        "execution": execution,
    }
