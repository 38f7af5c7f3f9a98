"""SQL of counts over a large ledger, made from its records once they are old: a chart reads these instead of them.

Counting is no part of storing a record. A while later the keeper reads a stretch of records and adds up, for each
value of a few columns and each ten minutes, how many there are and between which numbers they stand. So a chart over a
million records reads a few thousand rows, and a search for a rare value looks only where there is one. The newest
records are never counted here; whoever asks reads them as they are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.store import keepsakes
from doorward.store.sqlite import Statement

PERIOD = 600
"""Seconds that are counted together."""
FIELDS = ("command", "caller", "room", "door", "code")
"""The columns whose values are counted each by itself; the status is told apart in all of them."""
NEWEST = 5_000
"""How many records are left alone. A smaller ledger has no counts at all, and needs none."""
COUNTED = "ledger_counts"
"""The keepsake that says up to which record was counted."""
_NEAR = 2_000
"""Two stretches that lie so close are read as one."""

_TALLY = " UNION ALL ".join(
    f"SELECT tenant, '{field}', {field or repr('')}, at / {PERIOD * 1_000_000}, status, count(*), min(seq), max(seq)"
    " FROM ledger WHERE seq > :after AND seq <= :upto GROUP BY 1, 3, 4, 5"
    for field in ("", *FIELDS)
)

Stretch = tuple[int, int]
"""The numbers of a first and a last record."""


def counted(db: sqlite3.Connection) -> int:
    """The number of the last record that is counted; 0 for none."""
    return int(keepsakes.read(db, COUNTED) or 0)


def tally(db: sqlite3.Connection, after: int, upto: int) -> str:
    """The counts of a stretch of records, as JSON."""
    return msgspec.json.encode([tuple(row) for row in db.execute(_TALLY, {"after": after, "upto": upto})]).decode()


def add(tallied: str, upto: int) -> list[Statement]:
    """Add the counts of a stretch to those before it."""
    columns = ", ".join(f"value ->> {n}" for n in range(8))
    return [
        Statement(
            f"INSERT INTO ledger_counts SELECT {columns} FROM json_each(?) WHERE true"
            " ON CONFLICT DO UPDATE SET n = n + excluded.n, first = min(first, excluded.first),"
            " last = max(last, excluded.last)",
            (tallied,),
        ),
        keepsakes.put(COUNTED, str(upto)),
    ]


def forget(upto: int) -> Statement:
    """Drop what was counted of records that were moved out to a file."""
    return Statement("DELETE FROM ledger_counts WHERE last <= ?", (upto,))


def per_period(
    db: sqlite3.Connection, tenant: str, given: Mapping[str, str], periods: tuple[int, int], step: int = 1
) -> list[tuple[int, str, int]]:
    """Counts by status and so many periods; `given` names at most one of `FIELDS`, and perhaps a status."""
    field, value, status = _one(given)
    rows = db.execute(
        f"SELECT period / {int(step)}, status, sum(n) FROM ledger_counts WHERE tenant = ? AND field = ? AND value = ?"
        " AND period >= ? AND period < ? AND CASE WHEN ? = '' THEN status != 'started' ELSE status = ? END"
        " GROUP BY 1, 2",
        (tenant, field, value, *periods, status, status),
    )
    return [tuple(row) for row in rows]


def stretches(
    db: sqlite3.Connection, tenant: str, given: Mapping[str, str], times: tuple[float, float], before: int = 0
) -> list[Stretch]:
    """Where records with all of these values can stand, the newest first; what lies outside holds none.

    The last stretch is open at its end, since what is not counted yet may be anything.
    """
    periods = int(max(times[0], 0) // PERIOD), int(min(times[1], 1e12) // PERIOD) + 1
    upto = counted(db)
    tail = (upto + 1, before or 2**62)
    narrowed = {name: value for name, value in given.items() if name in FIELDS} or {"": ""}
    common: dict[int, Stretch] | None = None
    for field, value in narrowed.items():
        rows = db.execute(
            "SELECT period, min(first), max(last) FROM ledger_counts WHERE tenant = ? AND field = ? AND value = ?"
            " AND period >= ? AND period < ? AND (? = '' OR status = ?) GROUP BY period",
            (tenant, field, value, *periods, given.get("status", ""), given.get("status", "")),
        )
        found = {row[0]: (row[1], row[2]) for row in rows}
        common = found if common is None else _both(common, found)
    return _merged([one for one in [*(common or {}).values(), tail] if not before or one[0] < before])


def _one(given: Mapping[str, str]) -> tuple[str, str, str]:
    field = next((name for name in FIELDS if name in given), "")
    return field, given.get(field, ""), given.get("status", "")


def _both(one: Mapping[int, Stretch], other: Mapping[int, Stretch]) -> dict[int, Stretch]:
    shared = {}
    for period in one.keys() & other.keys():
        first, last = max(one[period][0], other[period][0]), min(one[period][1], other[period][1])
        if first <= last:
            shared[period] = (first, last)
    return shared


def _merged(found: list[Stretch]) -> list[Stretch]:
    merged: list[Stretch] = []
    for first, last in sorted(found, reverse=True):
        if merged and merged[-1][0] - last <= _NEAR:
            merged[-1] = (min(first, merged[-1][0]), max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def raw(
    db: sqlite3.Connection, tenant: str, given: Mapping[str, str], rooms: str | None, stretch: Stretch, bucket: int
) -> list[tuple[int, str, int]]:
    """The same counts from the records themselves, by buckets of so many seconds.

    A call is counted by how it ended; starts count only where they are asked for by their status.
    """
    conditions = "".join(f" AND {name} = :{name}" for name in (*FIELDS, "status", "call") if name in given)
    if "status" not in given:
        conditions += " AND phase != 'start'"
    if "call" in given:
        conditions += " AND +seq BETWEEN :first AND :last"
    else:
        conditions += " AND seq BETWEEN :first AND :last"
    bound: dict[str, Any] = {**given, "tenant": tenant, "rooms": rooms, "first": stretch[0], "last": stretch[1]}
    rows = db.execute(
        f"SELECT at / {int(bucket) * 1_000_000}, status, count(*) FROM ledger"
        " WHERE tenant = :tenant"
        " AND (:rooms IS NULL OR room IN (SELECT value FROM json_each(:rooms)))"
        f"{conditions} GROUP BY 1, 2",
        bound,
    )
    return [tuple(row) for row in rows]
