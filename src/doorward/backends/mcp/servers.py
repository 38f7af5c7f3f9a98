"""mcp/servers and mcp/restart: which upstream servers there are, and how they are doing."""

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
    problem: Annotated[str, Meta(description="What is not as it should be; empty when nothing is")]
    since: Annotated[str | None, Meta(description="Since when it is so")]
    tools: Annotated[int, Meta(description="How many of its tools are commands")]
    changed: Annotated[int, Meta(description="How many of them nobody may run, because their definition changed")]
    new: Annotated[int, Meta(description="How many ask for approval because they are new")]
    warnings: Annotated[int, Meta(description="How many of them have words that look meant to mislead")]
    itself: Annotated[str, Meta(description="Its name and version, by its own word")]
    protocolVersion: str
    calls: int
    failures: int
    restarts: int
    retrySeconds: Annotated[
        float | None, Meta(description="In how many seconds it is tried again, when it waits for that")
    ]
    remarks: Annotated[list[str], Meta(description="What in its entry has no effect, as far as its tools are known")]
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
    file: Annotated[str, Meta(description="The file that says which servers there are")]
    problem: Annotated[str, Meta(description="What is wrong with that file, and what is in force then")]
    elsewhere: Annotated[
        list[Elsewhere],
        Meta(description="With auto-discovery, for people: servers that MCP clients here have, and Doorward has not"),
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
    """List the upstream MCP servers: state, problem, tools, use and failures."""
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
    undo=NoUndo("a process that ended cannot be brought back; the server is started anew"),
    examples=[Example("start the server time anew", {"server": "time"})],
    related=["mcp/servers"],
    humans_only=True,
    house_wide=True,
)
async def restart(ctx: Context, server: ServerId) -> ServerFacts:
    """End an upstream server and start it anew, at once."""
    upstreams = ctx.house.upstreams
    upstream = upstreams.get(server)
    if not upstream.config.enabled:
        raise Conflict(
            f"The server {server} is disabled, so nothing was started. {upstream.config.problem}".rstrip(),
            hint="" if upstream.config.problem else f"Enable it: doorward servers enable {server}",
        )
    return facts(upstreams, await upstreams.restart(server))


def facts(upstreams: Upstreams, upstream: Upstream) -> ServerFacts:
    """A server as callers see it; nothing here is of its configuration, which can hold secrets."""
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
