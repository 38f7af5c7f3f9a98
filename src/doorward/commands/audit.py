"""Commands audit/*: verify the ledger, and count calls over time."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.commands.ai import When, parse_time
from doorward.commands.context import Context
from doorward.config.home import Home
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family
from doorward.core.errors import BadParams
from doorward.store.ledger import counts as ledger_counts
from doorward.store.ledger import queries
from doorward.store.ledger.checkpoints import LedgerPaths
from doorward.store.ledger.counts import PERIOD
from doorward.store.ledger.verification import verify
from doorward.store.rooms import DIRECT
from doorward.store.scope import Scope

family = Family("audit", category="history")


class LedgerVerification(TypedDict):
    verified: bool
    records: int
    checkpoints: int
    segments: Annotated[int, Meta(description="The number of archived segment files that were read")]
    deleted: Annotated[list[str], Meta(description="Archived records deleted by the setting ledger.keep_days")]
    broken: Annotated[str, Meta(description="The first problem found; empty if the ledger is intact")]


@family.command(
    "verify",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.ROOT,
    safety=Safety.SAFE,
    cost=10,
    timeout=300,
    undo=READS_ONLY,
    examples=[Example("check that the ledger is intact", {})],
    related=["data/list"],
    server_wide=True,
)
async def verify_record(ctx: Context) -> LedgerVerification:
    """Verify the ledger: no record was changed, removed, reordered or cut off."""
    home = ctx.services.home
    found = await asyncio.to_thread(verify, LedgerPaths.of(home), Home(home).load_key())
    return {
        "verified": not found.broken,
        "records": found.records,
        "checkpoints": found.checkpoints,
        "segments": found.segments,
        "deleted": list(found.deleted),
        "broken": found.broken,
    }


timeline_family = Family("audit", category="history")

MOST_BUCKETS = 200
_BUCKET_WIDTHS = (1, 5, 15, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 604_800)
"""The widths that a bucket may have, in seconds: round lengths that people know."""
_MAX_RAW_RECORDS = 100_000
"""Up to this many records are counted one by one when buckets are narrower than the precomputed counts."""

Counts = list[tuple[int, str, int]]


class Bucket(TypedDict):
    at: Annotated[str, Meta(description="The start of the bucket")]
    counts: Annotated[dict[str, int], Meta(description="The number of calls for each status")]


class Timeline(TypedDict):
    since: str
    until: str
    seconds: Annotated[int, Meta(description="The length of one bucket")]
    items: Annotated[list[Bucket], Meta(description="The buckets that are not empty, in order of time")]
    totals: dict[str, int]
    oldest: Annotated[str | None, Meta(description="The oldest record here; older records are archived in files")]


def _filter_meta(says: str, most: int = 200) -> object:
    return Meta(description=says, max_length=most)


@timeline_family.command(
    "timeline",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=30,
    undo=READS_ONLY,
    examples=[
        Example("how busy was the last day", {"since": "24h"}),
        Example("refused calls in the room general", {"inRoom": "general", "status": "refused", "since": "7d"}),
    ],
    related=["data/list", "ai/report"],
    is_status_poll=True,
)
async def timeline(
    ctx: Context,
    since: When = "24h",
    until: When = "",
    command: Annotated[str, _filter_meta("Only calls of this command")] = "",
    caller: Annotated[str, _filter_meta("Only calls of this caller")] = "",
    call: Annotated[str, _filter_meta("Only this execution", 64)] = "",
    in_room: Annotated[str, _filter_meta("Only calls in this room")] = "",
    door: Annotated[str, _filter_meta("Only calls through this door")] = "",
    status: Annotated[
        str,
        _filter_meta(
            "Only calls with this status: done, failed, refused, parked (waiting), denied or expired; "
            "or started, for the starts"
        ),
    ] = "",
    code: Annotated[str, _filter_meta("Only calls with this code")] = "",
) -> Timeline:
    """Count calls by status over time, in at most 200 buckets, from the ledger."""
    wall = ctx.services.clock.wall_us()  # the ledger uses the same clock
    now = wall / 1_000_000
    begin, end = parse_time(since, now) // 1_000_000, -(-(parse_time(until, now) if until else wall + 1) // 1_000_000)
    if begin >= end:
        raise BadParams(f"The time span is empty: since must be before until; given {since!r} and {until or 'now'!r}.")
    wanted = {"command": command, "caller": caller, "call": call, "room": in_room, "door": door, "status": status}
    given = {name: value for name, value in {**wanted, "code": code}.items() if value}
    if in_room:
        _check_private(ctx, in_room)
    scope = Scope.of(ctx.caller)
    return await ctx.store.in_reader(lambda db: _TimelineChart(db, scope, given, (begin, end)).timeline())


def _check_private(ctx: Context, room: str) -> None:
    """Hide direct rooms, and their activity, from everybody but their two members and root."""
    found = ctx.services.rooms.get(ctx.caller.tenant, room)
    secret = not found.is_visible_to(ctx.caller) if found is not None and found.direct else found is None
    if room.startswith(DIRECT) and secret and ctx.caller.access < Access.ROOT:
        raise ctx.services.rooms.not_found(ctx.caller.tenant, room)


class _TimelineChart:
    def __init__(self, db: sqlite3.Connection, scope: Scope, given: Mapping[str, str], span: tuple[int, int]) -> None:
        self._db = db
        self._scope = scope
        self._rooms = scope.values()["rooms"]
        self._given = given
        self._begin, self._end = span

    def timeline(self) -> Timeline:
        oldest = queries.oldest(self._db)
        if oldest is not None:
            self._begin = max(self._begin, min(oldest // 1_000_000, self._end - 1))
        width = self._width()
        first, last = self._begin // width, -(-self._end // width)
        items: dict[int, Counter[str]] = {}
        totals: Counter[str] = Counter()
        for at, status, n in self._counts(width):
            if first <= at < last:
                items.setdefault(at, Counter())[status] += n
                totals[status] += n
        return {
            "since": to_iso(first * width),
            "until": to_iso(last * width),
            "seconds": width,
            "items": [{"at": to_iso(at * width), "counts": dict(counts)} for at, counts in sorted(items.items())],
            "totals": dict(totals),
            "oldest": None if oldest is None else to_iso(oldest / 1_000_000),
        }

    def _width(self) -> int:
        """The narrowest bucket that gives at most `MOST_BUCKETS` buckets and is quick to count."""
        span = self._end - self._begin
        fits = [one for one in _BUCKET_WIDTHS if -(-self._end // one) - self._begin // one <= MOST_BUCKETS]
        width = fits[0] if fits else -(-span // (MOST_BUCKETS - 2) // PERIOD) * PERIOD
        if width < PERIOD and self._has_many_records():
            return PERIOD
        return width if width < PERIOD else -(-width // PERIOD) * PERIOD

    def _has_many_records(self) -> bool:
        counted = ledger_counts.per_period(self._db, self._scope.tenant, {}, self._periods())
        return sum(n for _, _, n in counted) > _MAX_RAW_RECORDS

    def _periods(self) -> tuple[int, int]:
        return self._begin // PERIOD, self._end // PERIOD + 1

    def _counts(self, width: int) -> Counts:
        """Use the precomputed counts where they are enough, and count the records elsewhere."""
        db, tenant, given = self._db, self._scope.tenant, self._given
        fields = [name for name in given if name in ledger_counts.FIELDS]
        if width >= PERIOD and len(fields) <= 1 and "call" not in given and self._rooms is None:
            step = width // PERIOD
            begin, end = self._begin // width * step, -(-self._end // width) * step
            counted = ledger_counts.per_period(db, tenant, given, (begin, end), step)
            tail = (ledger_counts.last_counted(db) + 1, 2**62)
            return counted + self._count_records(tail, width)
        found: Counts = []
        for stretch in ledger_counts.seq_ranges(db, tenant, given, (self._begin - width, self._end + width)):
            found += self._count_records(stretch, width)
        return found

    def _count_records(self, stretch: ledger_counts.SeqRange, width: int) -> Counts:
        return ledger_counts.count_records(self._db, self._scope.tenant, self._given, self._rooms, stretch, width)
