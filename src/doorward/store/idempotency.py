"""SQL for idempotency: stored responses, returned again for a repeated request with the same key."""

from __future__ import annotations

from typing import Any

from doorward.config.settings import LimitSettings
from doorward.store.sqlite import Statement, Store

MOST = 1_000
"""Maximum number of stored responses per caller. One more drops the oldest."""


def retention_seconds(limits: LimitSettings) -> float:
    """A day, but not longer than other results are kept."""
    return min(86_400.0, limits.result_hours * 3_600)


async def find(store: Store, caller: str, key: str, since: float) -> dict[str, Any] | None:
    rows = await store.read(
        "SELECT asked, call, status, body FROM answers WHERE caller = ? AND key = ? AND at > ?", (caller, key, since)
    )
    return rows[0] if rows else None


def begin(caller: str, key: str, asked: str, now: float, since: float) -> list[Statement]:
    """Reserve a key for a request that is about to run, unless another request has reserved it."""
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
            otherwise="a request with this key is already running",
        ),
    ]


def finish(caller: str, key: str, call: str, status: int, body: bytes | None) -> Statement:
    """Store the response. Without a body, only the fact that there was one is stored."""
    return Statement(
        "UPDATE answers SET call = ?, status = ?, body = ? WHERE caller = ? AND key = ?",
        (call, status, body, caller, key),
    )


def release(caller: str, key: str) -> Statement:
    """Free the key: nothing ran, so the request may be sent again."""
    return Statement("DELETE FROM answers WHERE caller = ? AND key = ?", (caller, key))


def forget(before: float) -> Statement:
    return Statement("DELETE FROM answers WHERE at <= ?", (before,))
