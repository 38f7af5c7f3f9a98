"""SQL for precomputed counts of a large ledger. Charts read these instead of the records.

Records are counted later, not when they are stored. The ledger maintenance reads a range of records and stores, for
each value of a few columns and each ten minutes, their number and their first and last seq. A chart over a million
records then reads a few thousand rows, and a search for a rare value scans only the ranges that contain it. The newest
records are never counted here; read them directly.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.store import kv
from doorward.store.sqlite import Statement

PERIOD = 600
"""The length of one period in seconds."""
FIELDS = ("command", "caller", "room", "door", "code")
"""The columns whose values are counted, each of them by status."""
NEWEST = 5_000
"""How many of the newest records are not counted. A smaller ledger has no counts and needs none."""
COUNTED = "ledger_counts"
"""The key of the stored seq of the last counted record."""
_NEAR = 2_000
"""Two ranges with at most this distance are merged."""

_TALLY = " UNION ALL ".join(
    f"SELECT tenant, '{field}', {field or repr('')}, at / {PERIOD * 1_000_000}, status, count(*), min(seq), max(seq)"
    " FROM ledger WHERE seq > :after AND seq <= :upto GROUP BY 1, 3, 4, 5"
    for field in ("", *FIELDS)
)

SeqRange = tuple[int, int]
"""The seq of the first and the last record of a range."""


def last_counted(db: sqlite3.Connection) -> int:
    """The seq of the last counted record; 0 if there is none."""
    return int(kv.read(db, COUNTED) or 0)


def tally(db: sqlite3.Connection, after: int, upto: int) -> str:
    """The counts of a range of records, as JSON."""
    return msgspec.json.encode([tuple(row) for row in db.execute(_TALLY, {"after": after, "upto": upto})]).decode()


def add(tallied: str, upto: int) -> list[Statement]:
    """Add the counts of a range to the stored ones."""
    columns = ", ".join(f"value ->> {n}" for n in range(8))
    return [
        Statement(
            f"INSERT INTO ledger_counts SELECT {columns} FROM json_each(?) WHERE true"
            " ON CONFLICT DO UPDATE SET n = n + excluded.n, first = min(first, excluded.first),"
            " last = max(last, excluded.last)",
            (tallied,),
        ),
        kv.put(COUNTED, str(upto)),
    ]


def forget(upto: int) -> Statement:
    """Delete the counts of records that were moved to a file."""
    return Statement("DELETE FROM ledger_counts WHERE last <= ?", (upto,))


def per_period(
    db: sqlite3.Connection, tenant: str, given: Mapping[str, str], periods: tuple[int, int], step: int = 1
) -> list[tuple[int, str, int]]:
    """Counts by status and `step` periods. `given` contains at most one of `FIELDS`, and optionally a status."""
    field, value, status = _split_filter(given)
    rows = db.execute(
        f"SELECT period / {int(step)}, status, sum(n) FROM ledger_counts WHERE tenant = ? AND field = ? AND value = ?"
        " AND period >= ? AND period < ? AND CASE WHEN ? = '' THEN status != 'started' ELSE status = ? END"
        " GROUP BY 1, 2",
        (tenant, field, value, *periods, status, status),
    )
    return [tuple(row) for row in rows]


def seq_ranges(
    db: sqlite3.Connection, tenant: str, given: Mapping[str, str], times: tuple[float, float], before: int = 0
) -> list[SeqRange]:
    """The ranges that can contain records with all of these values, newest first. No other range contains any.

    The newest range is open-ended, because records that are not counted yet can have any value.
    """
    periods = int(max(times[0], 0) // PERIOD), int(min(times[1], 1e12) // PERIOD) + 1
    upto = last_counted(db)
    tail = (upto + 1, before or 2**62)
    narrowed = {name: value for name, value in given.items() if name in FIELDS} or {"": ""}
    common: dict[int, SeqRange] | None = None
    for field, value in narrowed.items():
        rows = db.execute(
            "SELECT period, min(first), max(last) FROM ledger_counts WHERE tenant = ? AND field = ? AND value = ?"
            " AND period >= ? AND period < ? AND (? = '' OR status = ?) GROUP BY period",
            (tenant, field, value, *periods, given.get("status", ""), given.get("status", "")),
        )
        found = {row[0]: (row[1], row[2]) for row in rows}
        common = found if common is None else _intersect(common, found)
    return _merge([one for one in [*(common or {}).values(), tail] if not before or one[0] < before])


def _split_filter(given: Mapping[str, str]) -> tuple[str, str, str]:
    field = next((name for name in FIELDS if name in given), "")
    return field, given.get(field, ""), given.get("status", "")


def _intersect(one: Mapping[int, SeqRange], other: Mapping[int, SeqRange]) -> dict[int, SeqRange]:
    shared = {}
    for period in one.keys() & other.keys():
        first, last = max(one[period][0], other[period][0]), min(one[period][1], other[period][1])
        if first <= last:
            shared[period] = (first, last)
    return shared


def _merge(found: list[SeqRange]) -> list[SeqRange]:
    merged: list[SeqRange] = []
    for first, last in sorted(found, reverse=True):
        if merged and merged[-1][0] - last <= _NEAR:
            merged[-1] = (min(first, merged[-1][0]), max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def count_records(
    db: sqlite3.Connection, tenant: str, given: Mapping[str, str], rooms: str | None, stretch: SeqRange, bucket: int
) -> list[tuple[int, str, int]]:
    """The same counts from the records themselves, in buckets of `bucket` seconds.

    A call counts by its final status. Start records count only if `given` has a status.
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
