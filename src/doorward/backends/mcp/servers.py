"""Commands mcp/servers and mcp/restart: list the upstream servers with their state, and restart one."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.family import ServerId, family
from doorward.clock import iso
from doorward.command import READS_ONLY, Example, NoUndo
from doorward.errors import Conflict
from doorward.facts import Access, Effects, Safety, Tier
from doorward.upstream.clientfiles import Machine
from doorward.upstream.importing import elsewhere
from doorward.upstream.remarks import remarks
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


class Elsewhere(TypedDict):
    name: str
    client: str
    file: str


class ServerList(TypedDict):
    items: list[ServerFacts]
    file: Annotated[str, Meta(description="The server file")]
    problem: Annotated[str, Meta(description="What is wrong with the server file, and what is in force instead")]
    elsewhere: Annotated[
        list[Elsewhere],
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
    house_wide=True,
    tells_how_it_stands=True,
)
async def list_servers(ctx: Context) -> ServerList:
    """List the upstream MCP servers with state, problem, tools, calls and failures."""
    upstreams, book = ctx.house.upstreams, ctx.house.servers
    found = []
    if book.servers.auto_discovery and ctx.caller.kind == "human":
        found = await asyncio.to_thread(elsewhere, book.servers, Machine.here())
    return {
        "items": [facts(upstreams, upstream) for upstream in upstreams],
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
    house_wide=True,
)
async def restart(ctx: Context, server: ServerId) -> ServerFacts:
    """Restart an upstream MCP server."""
    upstreams = ctx.house.upstreams
    upstream = upstreams.get(server)
    if not upstream.config.enabled:
        raise Conflict(
            f"The server {server} is disabled. Nothing was started. {upstream.config.problem}".rstrip(),
            hint="" if upstream.config.problem else f"Enable it: doorward servers enable {server}",
        )
    return facts(upstreams, await upstreams.restart(server))


def facts(upstreams: Upstreams, upstream: Upstream) -> ServerFacts:
    """Describe a server for callers. Its configuration is left out, since it can hold secrets."""
    offers = upstreams.of(upstream.id)
    stats = upstream.server.stats()
    return {
        "id": upstream.id,
        "name": upstream.config.name,
        "transport": upstream.config.transport,
        "enabled": upstream.config.enabled,
        "state": upstream.state,
        "problem": upstream.problem,
        "since": iso(upstream.since) if upstream.since else None,
        "tools": len(offers),
        "changed": sum(offer.changed for offer in offers),
        "new": sum(offer.new for offer in offers),
        "warnings": sum(bool(offer.warnings) for offer in offers),
        "itself": upstream.calls_itself,
        "protocolVersion": upstream.server.info.protocol,
        "calls": stats.calls,
        "failures": stats.failures,
        "restarts": stats.restarts,
        "retrySeconds": upstream.server.retry_seconds,
        "remarks": remarks(upstream),
        "p50Ms": stats.p50_ms,
        "p99Ms": stats.p99_ms,
        "memoryMb": round(stats.memory_bytes / 1_048_576, 1),
        "lastError": stats.last_error,
        "lastErrorAt": stats.last_error_at,
    }
