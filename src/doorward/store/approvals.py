"""SQL for approvals and the decisions on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from doorward.store.sqlite import Statement, Store

_COLUMNS = (
    "id, tenant, room, caller, kind, behalf, command, params, redacted, digest, access, approvers, quorum, state,"
    " created_at, expires_at, decided_at, used_by, call, door, tier, lines_added, lines_removed, hold_seconds,"
    " held_by, reason"
)
_FORGET = "params = redacted, foreseen = '', effect = NULL"
"""Columns that may contain secrets are cleared as soon as they are no longer needed."""


async def find(store: Store, tenant: str, id: str) -> dict[str, Any] | None:
    rows = await store.read(f"SELECT {_COLUMNS} FROM approvals WHERE tenant = ? AND id = ?", (tenant, id))
    return rows[0] if rows else None


async def newest(store: Store, tenant: str, limit: int, before: str) -> list[dict[str, Any]]:
    """Newest first; with `before`, only those older than that one. Ids sort by creation time."""
    return await store.read(
        f"SELECT {_COLUMNS} FROM approvals WHERE tenant = ? AND (? = '' OR id < ?) ORDER BY id DESC LIMIT ?",
        (tenant, before, before, limit),
    )


async def decisions(store: Store, id: str) -> list[dict[str, Any]]:
    return await store.read(
        "SELECT decider, verdict, at, scope, rule FROM decisions WHERE approval = ? ORDER BY at", (id,)
    )


async def decided_by(store: Store, decider: str, oldest: str, newest: str) -> set[str]:
    """The ids of approvals in a range of ids that this person has decided."""
    rows = await store.read(
        "SELECT approval FROM decisions WHERE decider = ? AND approval BETWEEN ? AND ?", (decider, oldest, newest)
    )
    return {row["approval"] for row in rows}


async def last_decision(store: Store, tenant: str, decider: str) -> float:
    """When this person decided last; 0 if never."""
    rows = await store.read(
        "SELECT coalesce(max(d.at), 0) AS at FROM decisions AS d JOIN approvals AS a ON a.id = d.approval"
        " WHERE d.decider = ? AND a.tenant = ?",
        (decider, tenant),
    )
    return float(rows[0]["at"])


async def effect(store: Store, id: str) -> bytes | None:
    """The previewed effect of the command, which may be large."""
    rows = await store.read("SELECT effect FROM approvals WHERE id = ?", (id,))
    return rows[0]["effect"] if rows else None


async def preview(store: Store, id: str, offset: int, limit: int) -> tuple[str, int]:
    """A part of the previewed effect for people, and the length of the whole."""
    rows = await store.read(
        "SELECT substr(foreseen, ?, ?) AS part, length(foreseen) AS length FROM approvals WHERE id = ?",
        (offset + 1, limit, id),
    )
    return (rows[0]["part"], rows[0]["length"]) if rows else ("", 0)


def insert(row: dict[str, Any]) -> Statement:
    names = list(row)
    return Statement(
        f"INSERT INTO approvals ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
        [row[name] for name in names],
    )


class Decision(NamedTuple):
    """One person's decision: `scope` says how long it lasts, `rule` which calls it covers beyond this one.

    An `effect` replaces the effect that was previewed.
    """

    decider: str
    verdict: str
    at: float
    scope: str = "once"
    rule: str = ""
    reason: str = ""
    effect: bytes | None = None


def decide(id: str, decision: Decision, counted: Sequence[str]) -> list[Statement]:
    """Store one person's verdict. Each person has one, and only while the approval is pending and not expired.

    Only the approvals of the `counted` people count for the quorum.
    """
    decider, verdict, now, scope, rule, reason, effect = decision
    late = "it has already been decided, or has expired"
    change = (
        f"state = 'denied', reason = ?, {_FORGET}"
        if verdict == "deny"
        else "reason = ?, effect = coalesce(?, effect),"
        " state = CASE WHEN (SELECT count(*) FROM decisions AS d WHERE d.approval = approvals.id"
        " AND d.verdict = 'approve' AND d.decider IN (SELECT value FROM json_each(?))) >= quorum"
        " THEN 'approved' ELSE 'pending' END"
    )
    settle = f"UPDATE approvals SET decided_at = ?, {change} WHERE id = ? AND state = 'pending' AND expires_at > ?"
    return [
        Statement(
            "INSERT INTO decisions (approval, decider, verdict, at, scope, rule) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (id, decider, verdict, now, scope, rule),
            rows=1,
            otherwise="you have already decided this",
        ),
        Statement(
            settle,
            (now, reason, id, now) if verdict == "deny" else (now, reason, effect, json.dumps(list(counted)), id, now),
            rows=1,
            otherwise=late,
        ),
    ]


def hold(id: str, by: str, now: float) -> Statement:
    """Let a pending approval wait longer, once, because a person looks at it."""
    return Statement(
        "UPDATE approvals SET held_by = ?, expires_at = max(expires_at, ? + hold_seconds)"
        " WHERE id = ? AND state = 'pending' AND expires_at > ? AND held_by = '' AND hold_seconds > 0",
        (by, now, id, now),
        rows=1,
        otherwise="it was held, decided or has expired in the meantime",
    )


_DUE = "(state = 'pending' AND expires_at <= ? OR state = 'approved' AND decided_at <= ?)"


async def due(store: Store, now: float, decided_before: float) -> list[dict[str, Any]]:
    """The open approvals that nobody decided in time or, once approved, nobody used in time."""
    return await store.read(
        f"SELECT {_COLUMNS} FROM approvals WHERE state IN ('pending', 'approved') AND {_DUE} ORDER BY id",
        (now, decided_before),
    )


def expire(id: str, now: float, decided_before: float) -> Statement:
    """Expire one of those."""
    return Statement(
        f"UPDATE approvals SET state = 'expired', {_FORGET} WHERE id = ? AND {_DUE}",
        (id, now, decided_before),
        rows=1,
        otherwise="it was decided or used in the meantime",
    )


def expire_now(id: str, now: float, reason: str = "") -> Statement:
    """Expire a pending approval now: nobody waits for it any more."""
    return Statement(
        "UPDATE approvals SET expires_at = ?, reason = ? WHERE id = ? AND state = 'pending' AND expires_at > ?",
        (now, reason, id, now),
    )


async def expire_all_now(store: Store, ids: Sequence[str], now: float) -> None:
    """Expire several pending approvals now."""
    await store.write(*(expire_now(id, now) for id in ids))


def use(id: str, digest: str, call: str, decided_after: float) -> Statement:
    """Use an approval for one execution: it must be approved, match the call exactly and be unused."""
    return Statement(
        f"UPDATE approvals SET state = 'used', {_FORGET}, used_by = ?"
        " WHERE id = ? AND digest = ? AND state = 'approved' AND decided_at > ?",
        (call, id, digest, decided_after),
        rows=1,
        otherwise="its approval was used, changed or withdrawn in the meantime",
    )
