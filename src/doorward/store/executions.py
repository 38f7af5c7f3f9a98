"""SQL for finished executions in the ledger: the admitted calls, both successful and failed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from doorward.store.sqlite import Store

SPAN = 100_000
"""How many records one page scans. A caller with few matches gets the rest on the next pages."""

_COLUMNS = (
    "seq, call, at, phase, caller, kind, behalf, door, room, command, status, code, duration, CASE phase WHEN 'end'"
    " THEN (SELECT s.params FROM ledger AS s WHERE s.call = l.call AND s.phase = 'start') ELSE params END AS params"
)
"""The parameters are those of the start, which an end does not repeat. They are redacted."""
_LET_IN = "(status IN ('done', 'failed') AND code <> 'dry_run' OR code = 'withdrawn')"


async def find(store: Store, tenant: str, call: str) -> dict[str, Any] | None:
    """The last record of one execution. If it is a start, the end is not stored."""
    rows = await store.read(
        f"SELECT {_COLUMNS} FROM ledger AS l WHERE call = ? AND tenant = ? AND (phase = 'start' OR {_LET_IN})"
        " ORDER BY seq DESC LIMIT 1",
        (call, tenant),
    )
    return rows[0] if rows else None


async def is_in_rooms(store: Store, rooms: Collection[str], call: str) -> bool:
    """Whether an execution ran in one of these rooms; false if its record is no longer in the table."""
    rows = await store.read("SELECT room FROM ledger WHERE call = ? LIMIT 1", (call,))
    return bool(rows) and rows[0]["room"] in rooms


async def recent(
    store: Store,
    tenant: str,
    caller: str,
    behalf: str,
    rooms: Collection[str] | None,
    governed: Collection[str],
    *,
    before: int,
    limit: int,
    notable: bool = False,
) -> tuple[list[dict[str, Any]], int | None]:
    """The newest executions of a caller before a record, and the record to continue from if there are more.

    Without `behalf` the caller is a person. The result then includes the executions of agents on that person's behalf,
    and of agents and programs in the rooms that the person governs. `notable` leaves out people's calls that change
    nothing (their start is not recorded) and their read marks, which would otherwise fill the page that shows this.
    """
    floor = max(0, before - SPAN)
    rows = await store.read(
        f"SELECT {_COLUMNS} FROM ledger AS l"
        f" WHERE seq < :before AND seq >= :floor AND phase <> 'start' AND {_LET_IN} AND tenant = :tenant"
        " AND command NOT LIKE 'execution/%'"
        " AND (caller = :caller AND behalf = :behalf OR :behalf = '' AND behalf = :caller"
        " OR kind <> 'human' AND room IN (SELECT value FROM json_each(:governed)))"
        " AND (:notable = 0 OR kind <> 'human' OR phase <> 'whole' AND command <> 'room/mark')"
        " AND (:rooms IS NULL OR room IN (SELECT value FROM json_each(:rooms)))"
        " ORDER BY seq DESC LIMIT :limit",
        {
            "before": before,
            "floor": floor,
            "tenant": tenant,
            "caller": caller,
            "behalf": behalf,
            "rooms": None if rooms is None else msgspec.json.encode(list(rooms)).decode(),
            "governed": msgspec.json.encode(list(governed)).decode(),
            "notable": int(notable),
            "limit": limit,
        },
    )
    if len(rows) == limit:
        return rows, int(rows[-1]["seq"])
    return rows, floor if floor > 1 else None
