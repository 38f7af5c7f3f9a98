"""SQL for energy: the pools, the charges that empty them, and the budgets that limit them.

The charges of a caller in the order of their rowids give its level. With the time and the recovery rate of each:

    level = max(floor, min(ceiling, level + max(0, at - last at) * rate) - amount)

`charge` computes this in the database, in the write that stores the charge. The gate computes it with the same
operations in the same order for the pools in memory, so both agree to the last digit.
"""

from __future__ import annotations

import math
import sqlite3
from typing import Any, TypedDict

from doorward.store.sqlite import Statement, Store

_TOTALS = "SELECT amount, tokens, dollars FROM energy_charges WHERE tenant = ?"
_OF_CONVERSATION = (
    "tenant = :tenant AND (scope, id) IN"
    " (VALUES ('conversation', :agent || '@' || :room), ('agent', :agent), ('room', :room))"
)
"""The budgets that limit a conversation."""


async def all_pools(store: Store) -> list[dict[str, Any]]:
    return await store.read("SELECT tenant, caller, level, at FROM energy")


def open_pool(tenant: str, caller: str, level: float, at: float) -> Statement:
    """Store a pool that was never charged. A pool that is stored stays as it is."""
    return Statement(
        "INSERT OR IGNORE INTO energy (tenant, caller, level, at) VALUES (?, ?, ?, ?)", (tenant, caller, level, at)
    )


def rebase_pools(now: float) -> Statement:
    """Let pools recover from now on if the clock was set back since the last charge."""
    return Statement("UPDATE energy SET at = :now WHERE at > :now", {"now": now})


class ChargeRow(TypedDict):
    key: str
    tenant: str
    caller: str
    kind: str
    amount: float
    at: float
    room: str
    subject: str
    tokens: int
    dollars: float
    rate: float
    """The recovery of the pool per second."""
    floor: float
    ceiling: float


def charge(row: ChargeRow) -> list[Statement]:
    """Store a charge and empty its pool, which must be stored. A key that is stored already changes nothing.

    The first statement inserts one row if the charge is new.
    """
    return [
        Statement(
            "INSERT OR IGNORE INTO energy_charges"
            " (key, tenant, caller, kind, amount, at, room, subject, tokens, dollars, level)"
            " SELECT :key, tenant, caller, :kind, :amount, :at, :room, :subject, :tokens, :dollars,"
            " max(:floor, min(:ceiling, level + max(0.0, :at - at) * :rate) - :amount)"
            " FROM energy WHERE tenant = :tenant AND caller = :caller",
            row,
        ),
        Statement(
            "UPDATE energy SET level = (SELECT c.level FROM energy_charges AS c WHERE c.key = :key), at = :at"
            " WHERE tenant = :tenant AND caller = :caller AND changes() > 0",
            row,
        ),
    ]


def use_last_chance(tenant: str, agent: str, room: str) -> Statement:
    """Use up the last chance of every budget of 0 for this conversation. To follow a charge, and only if it is new."""
    return Statement(
        f"UPDATE energy_budgets SET last_chance_used = 1 WHERE {_OF_CONVERSATION} AND amount = 0 AND changes() > 0",
        {"tenant": tenant, "agent": agent, "room": room},
    )


async def totals(store: Store, tenant: str, caller: str, room: str) -> tuple[float, int, float]:
    """The energy, tokens and dollars of the charges of a caller, a room or both. The sums are exactly rounded."""
    sql, params = _TOTALS, [tenant]
    if caller:
        sql, params = f"{sql} AND caller = ?", [*params, caller]
    if room:
        sql, params = f"{sql} AND room = ?", [*params, room]

    def add(db: sqlite3.Connection) -> tuple[float, int, float]:
        rows = db.execute(sql, params).fetchall()
        return math.fsum(row[0] for row in rows), sum(row[1] for row in rows), math.fsum(row[2] for row in rows)

    return await store.in_reader(add)


async def recent_amounts(
    store: Store, tenant: str, caller: str, kind: str, subject: str, limit: int
) -> list[dict[str, Any]]:
    return await store.read(
        "SELECT amount FROM energy_charges WHERE tenant = ? AND caller = ? AND kind = ? AND subject = ?"
        " ORDER BY at DESC, rowid DESC LIMIT ?",
        (tenant, caller, kind, subject, limit),
    )


async def levels(store: Store, tenant: str, caller: str, since: float, until: float) -> list[dict[str, Any]]:
    """The level after each charge in a time span and after the last charge before it, in the order of the charges."""
    return await store.read(
        "SELECT at, level FROM energy_charges WHERE tenant = :tenant AND caller = :caller AND at <= :until AND"
        " at >= coalesce((SELECT max(at) FROM energy_charges WHERE tenant = :tenant AND caller = :caller"
        " AND at <= :since), :since) ORDER BY at, rowid",
        {"tenant": tenant, "caller": caller, "since": since, "until": until},
    )


def put_budget(tenant: str, scope: str, id: str, unit: str, amount: float) -> Statement:
    return Statement(
        "INSERT INTO energy_budgets (tenant, scope, id, unit, amount) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (tenant, scope, id, unit) DO UPDATE SET amount = excluded.amount, last_chance_used = 0",
        (tenant, scope, id, unit, amount),
    )


def delete_budget(tenant: str, scope: str, id: str, unit: str) -> Statement:
    return Statement(
        "DELETE FROM energy_budgets WHERE tenant = ? AND scope = ? AND id = ? AND unit = ?", (tenant, scope, id, unit)
    )


async def budgets(store: Store, tenant: str, scope: str = "", id: str = "") -> list[dict[str, Any]]:
    """The budgets of a tenant, of one scope or of one id in it."""
    return await store.read(
        "SELECT scope, id, unit, amount, last_chance_used FROM energy_budgets WHERE tenant = :tenant"
        " AND (:scope = '' OR scope = :scope) AND (:id = '' OR id = :id) ORDER BY scope, id, unit",
        {"tenant": tenant, "scope": scope, "id": id},
    )


async def budgets_of(store: Store, tenant: str, agent: str, room: str) -> list[dict[str, Any]]:
    """The budgets that limit a conversation."""
    return await store.read(
        f"SELECT scope, id, unit, amount, last_chance_used FROM energy_budgets WHERE {_OF_CONVERSATION}"
        " ORDER BY scope, id, unit",
        {"tenant": tenant, "agent": agent, "room": room},
    )
