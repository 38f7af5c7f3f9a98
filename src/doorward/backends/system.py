"""system/*: how Doorward itself is doing."""

from __future__ import annotations

import os
import resource
from typing import Annotated, Any, Literal, TypedDict, cast

from msgspec import Meta

from doorward import __version__
from doorward.backends.ai import moment
from doorward.backends.context import Context
from doorward.backends.model_desk import ProviderFacts
from doorward.command import READS_ONLY, Example, Family, NoUndo
from doorward.facts import Access, Effects, Safety, Tier
from doorward.rooms.people import LOCAL
from doorward.store import ledger
from doorward.upstream.upstream import Upstream
from doorward.upstream.upstreams import Upstreams

family = Family("system", category="system")
_OURS = ("local", "tier")
"""Kinds of models that only the settings make: where one of them cannot be had, something is not as it should be."""


class Totals(TypedDict):
    calls: int
    done: int
    failed: int
    refused: int
    parked: int


class ServerStatus(TypedDict):
    id: str
    state: Annotated[str, Meta(description="starting, ready, waiting, broken, stopped or disabled")]
    tools: Annotated[int, Meta(description="How many of its tools are commands")]
    calls: Annotated[int, Meta(description="Since Doorward started")]
    failures: int
    problem: str


class ModelStatus(TypedDict):
    name: str
    where: Annotated[str, Meta(description="Where it is asked, or what a tier means")]
    problem: Annotated[str, Meta(description="Why it cannot be asked now; empty when nothing is known against it")]


class Status(TypedDict):
    version: str
    home: Annotated[str | None, Meta(description="The folder that holds everything; null for other tenants")]
    state: Literal["well", "degraded"]
    problems: Annotated[list[str], Meta(description="What is not as it should be")]
    process: int
    memoryMb: Annotated[float, Meta(description="The most memory it had so far")]
    running: Annotated[int, Meta(description="Commands that run at this moment, this one included")]
    commands: int
    recipes: int
    rooms: int
    approvalsWaiting: int
    ledgerRecords: int | None
    lastHour: Totals
    energy: Annotated[dict[str, Any] | None, Meta(description="Your level and status; null while it is switched off")]
    sandbox: Annotated[str, Meta(description="How well programs are confined: full, degraded or off")]
    servers: Annotated[list[ServerStatus], Meta(description="Upstream MCP servers; mcp/servers says more of each")]
    models: Annotated[list[ModelStatus], Meta(description="Models, providers and tiers; model/list says more of each")]


class Stopping(TypedDict):
    now: Literal["stopping"]
    reason: str


@family.command(
    "status",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("is everything running", {})],
    related=["debug/logs", "ai/report"],
    tells_how_it_stands=True,
)
async def status(ctx: Context) -> Status:
    """Show version, load, what the ledger says of the last hour, and what is not as it should be."""
    house = ctx.house
    hour = await ledger.report(ctx.store, ctx.caller.tenant, since=moment("1h", house.clock.now()))
    totals = cast("Totals", {name: sum(row[name] for row in hour) for name in Totals.__annotations__})
    waiting = [one for one in await house.approvals.newest(ctx.caller.tenant, 500) if one.state == "pending"]
    level = await house.sandbox.level()
    problems = [f"recipe {name}: {reason}" for name, reason in house.recipes.problems.items()]
    if house.catalogue.problem:
        problems.append(house.catalogue.problem)
    ours = ctx.caller.tenant == LOCAL
    if ours:
        problems += [house.servers.problem] if house.servers.problem else []
        problems += house.upstreams.problems()
        wrong = (one["problem"] for one in house.models.providers() if one["kind"] in _OURS and one["problem"])
        problems += dict.fromkeys(wrong)  # a tier has that of its model
        line = house.settings.line
        if line.enabled and line.open and (networked := house.servers.servers.networked):
            problems.append(
                f"The line door takes only clients that show a token, since a server may use the network: "
                f"{', '.join(networked)}. Set line.open to false if that is what you want."
            )
    if level.word != "full":
        problems.append(f"sandbox {level}. {level.hint}".strip())
    return {
        "version": __version__,
        "home": str(house.home) if ours else None,
        "state": "degraded" if problems else "well",
        "problems": problems,
        "process": os.getpid(),
        "memoryMb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024, 1),
        "running": house.running(),
        "commands": len(house.registry) if ours else house.registry.public(),
        "recipes": len(house.recipes.recipes()),
        "rooms": len(house.rooms.of(ctx.caller.tenant)),
        "approvalsWaiting": len(waiting),
        "ledgerRecords": ctx.store.head.seq if ours else None,
        "lastHour": totals,
        "energy": house.energy_of(ctx.caller),
        "sandbox": level.word,
        "servers": [_server(house.upstreams, one) for one in house.upstreams] if ours else [],
        "models": [_model(one) for one in house.models.providers()] if ours else [],
    }


def _model(one: ProviderFacts) -> ModelStatus:
    if one["kind"] == "tier":
        return {"name": one["provider"], "where": f"means {one['model']}", "problem": one["problem"]}
    name = f"{one['provider']}:{one['model']}" if one["model"] else one["provider"]
    return {"name": name, "where": one["where"], "problem": one["problem"]}


def _server(upstreams: Upstreams, one: Upstream) -> ServerStatus:
    counted = one.server.stats()
    return {
        "id": one.id,
        "state": one.state,
        "tools": len(upstreams.of(one.id)),
        "calls": counted.calls,
        "failures": counted.failures,
        "problem": one.problem,
    }


@family.command(
    "shutdown",
    tier=Tier.SYSTEM,
    effects=Effects.DESTROY,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=10,
    undo=NoUndo("start it again with `doorward up`"),
    examples=[Example("stop the server for maintenance", {"reason": "maintenance"})],
    related=["system/status"],
    humans_only=True,
    house_wide=True,
)
async def shutdown(
    ctx: Context, reason: Annotated[str, Meta(description="Why, for the record", max_length=500)] = ""
) -> Stopping:
    """Stop the running server in good order, after this answer."""
    ctx.house.stop()
    return {"now": "stopping", "reason": reason}
