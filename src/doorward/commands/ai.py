"""The command ai/report: statistics of calls per caller and room, from the ledger."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from doorward.commands.context import Context, Listing, make_listing
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family
from doorward.core.errors import BadParams
from doorward.store.ledger import queries

family = Family("ai", category="observing")

When = Annotated[
    str, Meta(description="A time: 2026-11-16, 2026-11-16T08:00:00Z, or an age such as 30m, 12h, 7d", max_length=40)
]
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class CallerReport(TypedDict):
    """The calls of one caller in one room."""

    persona: str
    kind: str
    room: Annotated[str, Meta(description="The room; empty for calls outside rooms")]
    calls: int
    done: int
    failed: int
    refused: int
    parked: int
    denied: int
    expired: int
    successRate: Annotated[float | None, Meta(description="The share of executed calls that succeeded, from 0 to 1")]
    meanMs: float | None
    longestMs: float
    energy: float
    first: str
    last: str


@family.command(
    "report",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[
        Example("how did everyone do in the last day", {"since": "1d"}),
        Example("how is the helper doing in general", {"persona": "helper", "room": "general"}),
    ],
)
async def report(
    ctx: Context,
    persona: Annotated[str, Meta(description="Only this caller", max_length=63)] = "",
    room: Annotated[str, Meta(description="Only this room", max_length=63)] = "",
    since: When = "",
    until: When = "",
) -> Listing[CallerReport]:
    """Report calls, success rate, latency, decisions and energy for each caller and room, from the ledger.

    A direct room appears only in the reports of its two members.
    """
    now = ctx.services.clock.now()
    rows = await queries.report(
        ctx.store,
        ctx.caller.tenant,
        caller=persona,
        room=room,
        since=parse_time(since, now) if since else 0,
        until=parse_time(until, now) if until else 0,
    )
    return make_listing([_describe_row(row) for row in rows if _may_see(ctx, row["room"])])


def _may_see(ctx: Context, room: str) -> bool:
    found = ctx.services.rooms.get(ctx.caller.tenant, room)
    if found is not None and found.direct:
        return found.is_visible_to(ctx.caller)
    return ctx.caller.covers_room(room)


def parse_time(text: str, now: float) -> int:
    """Convert a date, a time, or an age counted back from now to microseconds since 1970."""
    number, unit = text[:-1], text[-1:]
    if unit in _UNITS and number.isascii() and number.isdigit():
        return int((now - int(number[:9]) * _UNITS[unit]) * 1_000_000)
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadParams(
            f"Unknown time {text!r}. Write 2026-11-16, 2026-11-16T08:00:00Z, or an age such as 30m, 12h or 7d."
        ) from error
    return int((given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp() * 1_000_000)


def _describe_row(row: dict[str, Any]) -> CallerReport:
    ran = row["done"] + row["failed"]
    return {
        "persona": row["caller"],
        "kind": row["kind"],
        "room": row["room"],
        "calls": row["calls"],
        "done": row["done"],
        "failed": row["failed"],
        "refused": row["refused"],
        "parked": row["parked"],
        "denied": row["denied"],
        "expired": row["expired"],
        "successRate": round(row["done"] / ran, 4) if ran else None,
        "meanMs": round(row["mean"] / 1_000, 3) if row["mean"] is not None else None,
        "longestMs": round(row["longest"] / 1_000, 3),
        "energy": row["energy"],
        "first": to_iso(row["first"] / 1_000_000),
        "last": to_iso(row["last"] / 1_000_000),
    }
