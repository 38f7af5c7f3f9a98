"""SQL for the ledger: reads, and the move of old records to files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, cast

from doorward.store.ledger.record import COLUMNS
from doorward.store.sqlite import Statement, Store

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM ledger"


def rows(db: sqlite3.Connection, *, after: int = 0) -> Iterator[tuple[Any, ...]]:
    """All rows in chain order, streamed."""
    cursor = db.execute(f"{_SELECT} WHERE seq > ? ORDER BY seq", (after,))
    cursor.row_factory = None
    yield from cursor


def newest(db: sqlite3.Connection, limit: int, *, after: int = 0) -> list[tuple[Any, ...]]:
    """The newest rows after `after`, in ascending order."""
    cursor = db.execute(f"{_SELECT} WHERE seq > ? ORDER BY seq DESC LIMIT ?", (after, limit))
    cursor.row_factory = None
    return cursor.fetchall()[::-1]


def of_call(db: sqlite3.Connection, call: str) -> list[tuple[Any, ...]]:
    cursor = db.execute(f"{_SELECT} WHERE call = ? ORDER BY seq", (call,))
    cursor.row_factory = None
    return cursor.fetchall()


def by_seq(db: sqlite3.Connection, seq: int) -> list[tuple[Any, ...]]:
    cursor = db.execute(f"{_SELECT} WHERE seq = ?", (seq,))
    cursor.row_factory = None
    return cursor.fetchall()


def head(db: sqlite3.Connection) -> tuple[int, str, str] | None:
    """The end of the ledger as stored in the database: seq, hash, signature."""
    row = db.execute("SELECT seq, hash, signature FROM ledger_head").fetchone()
    return tuple(row) if row else None


def segments(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """The registered segments in chain order. `deleted` is a signature if the server deleted the file."""
    found = db.execute("SELECT * FROM segments ORDER BY first")
    return [{"deleted": "", **dict(row)} for row in found]  # an older database has no such column


def mark_deleted(first: int, signature: str) -> Statement:
    return Statement(
        "UPDATE segments SET deleted = ? WHERE first = ? AND deleted = ''",
        (signature, first),
        rows=1,
        otherwise="the segment is already deleted",
    )


def first_seq(db: sqlite3.Connection) -> int | None:
    """The number of the first record in the table; None if it is empty."""
    return cast("int | None", db.execute("SELECT min(seq) FROM ledger").fetchone()[0])


def last_seq(db: sqlite3.Connection) -> int | None:
    """The number of the last record in the table; None if it is empty."""
    return cast("int | None", db.execute("SELECT max(seq) FROM ledger").fetchone()[0])


async def open_calls(store: Store) -> list[dict[str, Any]]:
    """The start records of calls that have no end."""
    return await store.read(
        f"SELECT {', '.join(f'ledger.{name}' for name in COLUMNS)} FROM open_calls"
        " JOIN ledger ON ledger.call = open_calls.call AND ledger.phase = 'start' ORDER BY ledger.seq"
    )


async def length(store: Store) -> int:
    """The number of records in the table, without those moved to files."""
    (row,) = await store.read(
        "SELECT coalesce((SELECT max(seq) FROM ledger) - (SELECT min(seq) FROM ledger) + 1, 0) AS n"
    )
    return int(row["n"])


def move_out(first: int, last: int, file: str, prev: str, hash_: str, signature: str) -> list[Statement]:
    """Register a segment file and delete its records from the table."""
    return [
        Statement(
            "INSERT INTO segments (first, last, file, prev, hash, signature) VALUES (?, ?, ?, ?, ?, ?)",
            (first, last, file, prev, hash_, signature),
        ),
        Statement("DROP TRIGGER IF EXISTS ledger_is_never_cut"),
        Statement("DELETE FROM ledger WHERE seq <= ?", (last,), rows=last - first + 1),
        Statement(
            "CREATE TRIGGER ledger_is_never_cut BEFORE DELETE ON ledger"
            " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        ),
    ]


async def report(
    store: Store, tenant: str, *, caller: str = "", room: str = "", since: int = 0, until: int = 0
) -> list[dict[str, Any]]:
    """Calls per caller and room in a time span (microseconds since 1970). Empty arguments do not filter.

    Times are compared in seconds, as in the collections, because the index is on seconds.
    """
    return await store.read(
        "SELECT caller, kind, room, count(*) FILTER (WHERE status NOT IN ('denied', 'expired')) AS calls,"
        " sum(status = 'done') AS done, sum(status = 'refused') AS refused, sum(status = 'failed') AS failed,"
        " sum(status = 'parked') AS parked, sum(status = 'denied') AS denied, sum(status = 'expired') AS expired,"
        " avg(CASE WHEN status IN ('done', 'failed') THEN duration END) AS mean,"
        " max(duration) AS longest, sum(spent) AS energy, min(at) AS first, max(at) AS last"
        " FROM ledger WHERE phase != 'start' AND tenant = :tenant AND at / 1000000.0 >= :since"
        " AND (:until = 0 OR at / 1000000.0 < :until)"
        " AND (:caller = '' OR caller = :caller) AND (:room = '' OR room = :room)"
        " GROUP BY caller, kind, room ORDER BY calls DESC",
        {"tenant": tenant, "caller": caller, "room": room, "since": since / 1_000_000, "until": until / 1_000_000},
    )


async def recent_runs(store: Store, records: int) -> list[dict[str, Any]]:
    """The commands that ran among the newest records, and how long they took, oldest first."""
    return await store.read(
        "SELECT tenant, command, duration FROM ledger WHERE seq > (SELECT max(seq) FROM ledger) - ?"
        " AND phase <> 'start' AND status IN ('done', 'failed') AND code NOT IN ('dry_run', 'interrupted')"
        " ORDER BY seq",
        (records,),
    )


def seq_range(db: sqlite3.Connection, since: int, until: int) -> tuple[int, int] | None:
    """The first and the last seq of the records in a time span; None if there are none.

    If the clock was set back, records of other times can lie between them.
    """
    first, last = db.execute(
        "SELECT min(seq), max(seq) FROM ledger WHERE at / 1000000.0 >= ? AND at / 1000000.0 < ?",
        (since / 1_000_000, until / 1_000_000),
    ).fetchone()
    return None if first is None else (first, last)


def decisions(
    db: sqlite3.Connection,
    columns: Sequence[str],
    tenant: str,
    rooms: str,
    numbers: tuple[int, int],
    times: tuple[int, int],
) -> list[tuple[Any, ...]]:
    """The decisions in some rooms (a JSON list) within a range of seq numbers and times, newest first."""
    cursor = db.execute(
        f"SELECT {', '.join(columns)} FROM ledger WHERE seq BETWEEN ? AND ? AND at >= ? AND at < ? AND tenant = ?"
        " AND phase != 'end' AND room IN (SELECT value FROM json_each(?)) ORDER BY seq DESC",
        (*numbers, *times, tenant, rooms),
    )
    cursor.row_factory = None
    return cursor.fetchall()


def oldest(db: sqlite3.Connection) -> int | None:
    """The earliest time in the table; None if it is empty. After a clock change it can be on any record."""
    row = db.execute("SELECT at FROM ledger ORDER BY at / 1000000.0 LIMIT 1").fetchone()
    return int(row[0]) if row else None


def first_time(db: sqlite3.Connection) -> int | None:
    """The time of the first record in the table; None if it is empty."""
    row = db.execute("SELECT at FROM ledger ORDER BY seq LIMIT 1").fetchone()
    return int(row[0]) if row else None


def time_of(db: sqlite3.Connection, seq: int) -> int | None:
    """The time of a record; None if it is not in the table."""
    row = db.execute("SELECT at FROM ledger WHERE seq = ?", (seq,)).fetchone()
    return int(row[0]) if row else None
