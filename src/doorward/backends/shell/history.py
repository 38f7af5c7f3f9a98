"""The command shell/history."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.shell.family import SessionId, family
from doorward.backends.shell.shapes import PastCall, PastCalls
from doorward.clock import iso
from doorward.command import READS_ONLY, Example
from doorward.facts import Access, Effects, Safety, Tier
from doorward.store import shell_history


@family.command(
    "history",
    tier=Tier.CODE,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("what did I run last", {"limit": 5})],
    related=["shell/context"],
)
async def history(
    ctx: Context,
    limit: Annotated[int, Meta(description="Maximum number of commands, newest first", ge=1, le=500)] = 10,
    session: SessionId = "",
) -> PastCalls:
    """List your last shell commands and their outcomes, newest first, from the ledger.

    With a session, also list the lines typed in it.
    """
    past: PastCalls = {"items": await recent(ctx, limit)}
    if session:
        found = await ctx.house.sessions.look(ctx.caller, ctx.call.room, session)
        past["lines"] = found.history[: -limit - 1 : -1]
    return past


async def recent(ctx: Context, limit: int) -> list[PastCall]:
    caller = ctx.caller
    rows = await shell_history.newest(
        ctx.store, caller.tenant, caller.id, caller.on_behalf_of, room=ctx.call.room, limit=limit
    )
    return [
        {
            "call": row["call"],
            "at": iso(row["at"] / 1_000_000),
            "command": row["command"],
            "params": msgspec.json.decode(row["params"] or "{}"),
            "status": row["status"],
            "seconds": round(row["duration"] / 1_000_000, 6),
            "note": row["note"],
        }
        for row in rows
    ]
