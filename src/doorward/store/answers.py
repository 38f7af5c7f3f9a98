"""SQL of answers that are given again to whoever asks again with the same key."""

from __future__ import annotations

from typing import Any

from doorward.settings import Limits
from doorward.store.sqlite import Statement, Store

MOST = 1_000
"""So many are kept for one caller; with one more the oldest goes."""


def kept_seconds(limits: Limits) -> float:
    """A day, but no longer than results are kept anywhere else."""
    return min(86_400.0, limits.result_hours * 3_600)


async def find(store: Store, caller: str, key: str, since: float) -> dict[str, Any] | None:
    rows = await store.read(
        "SELECT asked, call, status, body FROM answers WHERE caller = ? AND key = ? AND at > ?", (caller, key, since)
    )
    return rows[0] if rows else None


def begin(caller: str, key: str, asked: str, now: float, since: float) -> list[Statement]:
    """Take a key for a request that is about to be answered, unless somebody took it meanwhile."""
    return [
        Statement("DELETE FROM answers WHERE caller = ? AND key = ? AND at <= ?", (caller, key, since)),
        Statement(
            "DELETE FROM answers WHERE caller = ? AND key IN"
            " (SELECT key FROM answers WHERE caller = ? AND status IS NOT NULL ORDER BY at DESC LIMIT -1 OFFSET ?)",
            (caller, caller, MOST - 1),
        ),
        Statement(
            "INSERT INTO answers (caller, key, asked, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (caller, key, asked, now),
            rows=1,
            otherwise="a request with this key is on its way",
        ),
    ]


def finish(caller: str, key: str, call: str, status: int, body: bytes | None) -> Statement:
    """The answer; without a body it was given, but is not kept."""
    return Statement(
        "UPDATE answers SET call = ?, status = ?, body = ? WHERE caller = ? AND key = ?",
        (call, status, body, caller, key),
    )


def release(caller: str, key: str) -> Statement:
    """Nothing ran, so the same may be asked again."""
    return Statement("DELETE FROM answers WHERE caller = ? AND key = ?", (caller, key))


def forget(before: float) -> Statement:
    return Statement("DELETE FROM answers WHERE at <= ?", (before,))
