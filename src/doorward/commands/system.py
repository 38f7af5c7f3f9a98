"""Commands system/*: show the server's status, and shut it down."""

from __future__ import annotations

import os
import resource
from typing import Annotated, Any, Literal, TypedDict, cast

from msgspec import Meta

from doorward import __version__
from doorward.commands.agent_services import ProviderFacts
from doorward.commands.ai import parse_time
from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import Conflict
from doorward.gate.workspaces import Workspaces
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Room
from doorward.store.ledger import queries
from doorward.store.storage_health import StorageHealth
from doorward.upstream.upstream import Upstream
from doorward.upstream.upstreams import Upstreams

family = Family("system", category="system")
_CONFIGURED_KINDS = ("local", "tier")
"""Kinds of models that exist only because of the settings. If one is not available, it is a problem."""


class CallTotals(TypedDict):
    calls: int
    done: int
    failed: int
    refused: int
    parked: int
    denied: int
    expired: int


class ServerStatus(TypedDict):
    id: str
    state: Annotated[str, Meta(description="starting, ready, waiting, broken, stopped or disabled")]
    tools: Annotated[int, Meta(description="The number of its tools that are commands")]
    calls: Annotated[int, Meta(description="Since Doorward started")]
    failures: int
    problem: str


class ModelStatus(TypedDict):
    name: str
    where: Annotated[str, Meta(description="Its address, or the model that a tier stands for")]
    problem: Annotated[str, Meta(description="Why it is not available; empty if no problem is known")]


class WorkspaceStatus(TypedDict):
    room: str
    workspace: Annotated[str, Meta(description="The folder that its commands work in")]
    problem: Annotated[str, Meta(description="Why it cannot be used; empty if no problem is known")]


class SystemStatus(TypedDict):
    version: str
    home: Annotated[str | None, Meta(description="The home folder; null for other tenants")]
    state: Literal["well", "degraded"]
    problems: Annotated[list[str], Meta(description="Current problems")]
    process: int
    memoryMb: Annotated[float, Meta(description="The peak memory use")]
    running: Annotated[int, Meta(description="The number of running commands, including this one")]
    commands: int
    recipes: int
    rooms: int
    workspaces: Annotated[list[WorkspaceStatus], Meta(description="Your rooms that have a workspace of their own")]
    approvalsWaiting: int
    ledgerRecords: int | None
    lastHour: CallTotals
    energy: Annotated[dict[str, Any] | None, Meta(description="Your energy; null if your work is not counted")]
    sandbox: Annotated[str, Meta(description="The confinement of programs: full, degraded or off")]
    servers: Annotated[list[ServerStatus], Meta(description="Upstream MCP servers; mcp/servers shows more")]
    models: Annotated[list[ModelStatus], Meta(description="Models, providers and tiers; model/list shows more")]


class ShutdownStarted(TypedDict):
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
    is_status_poll=True,
)
async def status(ctx: Context) -> SystemStatus:
    """Show the server's version, load, calls of the last hour, and problems."""
    house = ctx.services
    hour = await queries.report(ctx.store, ctx.caller.tenant, since=parse_time("1h", house.clock.now()))
    totals = cast("CallTotals", {name: sum(row[name] for row in hour) for name in CallTotals.__annotations__})
    waiting = [one for one in await house.approvals.newest(ctx.caller.tenant, 500) if one.state == "pending"]
    level = await house.sandbox.level()
    problems = [f"recipe {name}: {reason}" for name, reason in house.recipes.problems.items()]
    problems += _list_observing_rooms(ctx)
    if storage := await StorageHealth(ctx.store).problem():
        problems.append(storage)
    if house.catalogue.problem:
        problems.append(house.catalogue.problem)
    ours = ctx.caller.tenant == LOCAL
    if ours:
        problems += [house.servers.problem] if house.servers.problem else []
        problems += house.upstreams.problems()
        wrong = (
            one["problem"] for one in house.models.providers() if one["kind"] in _CONFIGURED_KINDS and one["problem"]
        )
        problems += dict.fromkeys(wrong)  # a tier repeats the problem of its model
        line = house.settings.line
        if line.enabled and line.open and (networked := house.servers.servers.networked_ids):
            problems.append(
                f"The line door requires a token from every client, because a server may use the network: "
                f"{', '.join(networked)}. To accept this, set line.open to false."
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
        "running": house.count_running(),
        "commands": len(house.registry) if ours else house.registry.count_public(),
        "recipes": len(house.recipes.recipes()),
        "rooms": len(house.rooms.of_tenant(ctx.caller.tenant)),
        "workspaces": [
            _describe_workspace(house.workspaces, room)
            for room in sorted(house.rooms.of_tenant(ctx.caller.tenant), key=lambda one: one.id)
            if room.workspace and not room.archived and room.is_visible_to(ctx.caller)
        ],
        "approvalsWaiting": len(waiting),
        "ledgerRecords": ctx.store.head.seq if ours else None,
        "lastHour": totals,
        "energy": house.energy_of(ctx.caller),
        "sandbox": level.word,
        "servers": [_describe_server(house.upstreams, one) for one in house.upstreams] if ours else [],
        "models": [_describe_model(one) for one in house.models.providers()] if ours else [],
    }


def _describe_workspace(workspaces: Workspaces, room: Room) -> WorkspaceStatus:
    try:
        workspaces.find(room.tenant, room.id)
        problem = ""
    except Conflict as error:
        problem = error.message
    return {"room": room.id, "workspace": room.workspace, "problem": problem}


def _list_observing_rooms(ctx: Context) -> list[str]:
    """A line for each room whose recipe refuses nothing and asks for nothing."""
    house, lines = ctx.services, []
    for room in sorted(house.rooms.of_tenant(ctx.caller.tenant), key=lambda one: one.id):
        policy = house.recipes.policy(room.recipe)
        if policy is not None and policy.observes and not room.archived and room.is_known_to(ctx.caller):
            lines.append(
                f"The room {room.id} OBSERVES ONLY: its recipe {room.recipe} records what it would refuse or ask, and "
                'every call runs. To enforce it, remove "mode": "observe" from the recipe.'
            )
    return lines


def _describe_model(one: ProviderFacts) -> ModelStatus:
    if one["kind"] == "tier":
        return {"name": one["provider"], "where": f"means {one['model']}", "problem": one["problem"]}
    name = f"{one['provider']}:{one['model']}" if one["model"] else one["provider"]
    return {"name": name, "where": one["where"], "problem": one["problem"]}


def _describe_server(upstreams: Upstreams, one: Upstream) -> ServerStatus:
    counted = one.server.stats()
    return {
        "id": one.id,
        "state": one.state,
        "tools": len(upstreams.offers_of(one.id)),
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
    server_wide=True,
)
async def shutdown(
    ctx: Context, reason: Annotated[str, Meta(description="The reason, for the ledger", max_length=500)] = ""
) -> ShutdownStarted:
    """Shut the server down cleanly after this answer."""
    ctx.services.stop()
    return {"now": "stopping", "reason": reason}
