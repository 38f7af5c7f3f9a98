"""system/*: how Doorward itself is doing."""

from __future__ import annotations

import os
import resource
from typing import Annotated, Any, Literal, TypedDict, cast

from msgspec import Meta

from doorward import __version__
from doorward.backends.ai import moment
from doorward.backends.context import Context
from doorward.command import READS_ONLY, Example, Family, NoUndo
from doorward.facts import Access, Effects, Safety, Tier
from doorward.rooms.people import LOCAL
from doorward.store import ledger

family = Family("system", category="system")


class Totals(TypedDict):
    calls: int
    done: int
    failed: int
    refused: int
    parked: int


class Status(TypedDict):
    version: str
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
    if level.word != "full":
        problems.append(f"sandbox {level}. {level.hint}".strip())
    return {
        "version": __version__,
        "state": "degraded" if problems else "well",
        "problems": problems,
        "process": os.getpid(),
        "memoryMb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024, 1),
        "running": house.running(),
        "commands": len(house.registry),
        "recipes": len(house.recipes.recipes()),
        "rooms": len(house.rooms.of(ctx.caller.tenant)),
        "approvalsWaiting": len(waiting),
        "ledgerRecords": ctx.store.head.seq if ctx.caller.tenant == LOCAL else None,
        "lastHour": totals,
        "energy": house.energy_of(ctx.caller),
        "sandbox": level.word,
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
