"""Commands mcp/servers, mcp/restart and mcp/logs: the state of upstream servers."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.servers.family import ServerId, family
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, NoUndo
from doorward.core.errors import Conflict
from doorward.upstream.client_files import ClientMachine
from doorward.upstream.client_import import find_missing
from doorward.upstream.tool_offers import find_unknown_names
from doorward.upstream.upstream import Upstream
from doorward.upstream.upstreams import Upstreams


class ServerFacts(TypedDict):
    id: str
    name: str
    transport: str
    enabled: bool
    state: Annotated[str, Meta(description="starting, ready, waiting, broken, stopped or disabled")]
    problem: Annotated[str, Meta(description="The current problem; empty if there is none")]
    since: Annotated[str | None, Meta(description="When it entered this state")]
    tools: Annotated[int, Meta(description="The number of its tools that are commands")]
    changed: Annotated[int, Meta(description="The number of tools blocked because their definition changed")]
    new: Annotated[int, Meta(description="The number of tools that need approval because they are new")]
    warnings: Annotated[int, Meta(description="The number of tools with suspicious texts")]
    itself: Annotated[str, Meta(description="The name and version that it reports")]
    protocolVersion: str
    calls: int
    failures: int
    restarts: int
    retrySeconds: Annotated[
        float | None, Meta(description="Seconds until the next attempt to connect; null if none is planned")
    ]
    remarks: Annotated[list[str], Meta(description="Parts of its entry that have no effect on the known tools")]
    p50Ms: float | None
    p99Ms: float | None
    memoryMb: float
    lastError: str
    lastErrorAt: str | None


class UnimportedServer(TypedDict):
    name: str
    client: str
    file: str


class ServerList(TypedDict):
    items: list[ServerFacts]
    file: Annotated[str, Meta(description="The server file")]
    problem: Annotated[str, Meta(description="What is wrong with the server file, and what is in force instead")]
    elsewhere: Annotated[
        list[UnimportedServer],
        Meta(description="Servers of MCP clients on this machine that Doorward lacks; with auto-discovery, for people"),
    ]


@family.command(
    "servers",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("which MCP servers are connected", {})],
    related=["mcp/tools", "mcp/test", "mcp/logs"],
    server_wide=True,
    is_status_poll=True,
)
async def list_servers(ctx: Context) -> ServerList:
    """List the upstream MCP servers with state, problem, tools, calls and failures."""
    upstreams, book = ctx.services.upstreams, ctx.services.servers
    found = []
    if book.servers.auto_discovery and ctx.caller.kind == "human":
        found = await asyncio.to_thread(find_missing, book.servers, ClientMachine.current())
    return {
        "items": [describe_server(upstreams, upstream) for upstream in upstreams],
        "file": str(book.file),
        "problem": f"{book.problem} {book.consequence}" if book.problem else "",
        "elsewhere": [{"name": one.name, "client": one.client, "file": one.file} for one in found],
    }


@family.command(
    "restart",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE | Effects.OPEN_WORLD,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=5,
    timeout=600,
    undo=NoUndo("a stopped process cannot be restored; the server starts again"),
    examples=[Example("restart the server time", {"server": "time"})],
    related=["mcp/servers"],
    humans_only=True,
    server_wide=True,
)
async def restart(ctx: Context, server: ServerId) -> ServerFacts:
    """Restart an upstream MCP server."""
    upstreams = ctx.services.upstreams
    upstream = upstreams.get(server)
    if not upstream.config.enabled:
        raise Conflict(
            f"The server {server} is disabled. Nothing was started. {upstream.config.problem}".rstrip(),
            hint="" if upstream.config.problem else f"Enable it: doorward servers enable {server}",
        )
    return describe_server(upstreams, await upstreams.restart(server))


def describe_server(upstreams: Upstreams, upstream: Upstream) -> ServerFacts:
    """Describe a server for callers. Its configuration is left out, since it can hold secrets."""
    offers = upstreams.offers_of(upstream.id)
    stats = upstream.server.stats()
    return {
        "id": upstream.id,
        "name": upstream.config.name,
        "transport": upstream.config.transport,
        "enabled": upstream.config.enabled,
        "state": upstream.state,
        "problem": upstream.problem,
        "since": to_iso(upstream.since) if upstream.since else None,
        "tools": len(offers),
        "changed": sum(offer.is_changed for offer in offers),
        "new": sum(offer.new for offer in offers),
        "warnings": sum(bool(offer.warnings) for offer in offers),
        "itself": upstream.own_name,
        "protocolVersion": upstream.server.info.protocol,
        "calls": stats.calls,
        "failures": stats.failures,
        "restarts": stats.restarts,
        "retrySeconds": upstream.server.retry_seconds,
        "remarks": find_unknown_names(upstream),
        "p50Ms": stats.p50_ms,
        "p99Ms": stats.p99_ms,
        "memoryMb": round(stats.memory_bytes / 1_048_576, 1),
        "lastError": stats.last_error,
        "lastErrorAt": stats.last_error_at,
    }


class ServerLog(TypedDict):
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
    server_wide=True,
    is_status_poll=True,
)
async def show_logs(
    ctx: Context,
    server: ServerId,
    lines: Annotated[int, Meta(description="Number of lines from the end", ge=1, le=500)] = 100,
) -> ServerLog:
    """Show the last log lines of an upstream MCP server: its standard error output, starts and stops."""
    upstream = ctx.services.upstreams.get(server)
    return {"items": list(upstream.server.log)[-int(lines) :], "state": upstream.state}
