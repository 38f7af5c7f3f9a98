"""SQL for results that were too long to return in full."""

from __future__ import annotations

from typing import Any

from doorward.core.model import Call
from doorward.store.sqlite import Statement, Store


def store_result(call: Call, text: str, now: float) -> Statement:
    caller = call.caller
    return Statement(
        "INSERT INTO results (call, tenant, caller, behalf, at, body) VALUES (?, ?, ?, ?, ?, ?)",
        (call.id, caller.tenant, caller.id, caller.on_behalf_of, now, text),
    )


def forget(before: float) -> Statement:
    return Statement("DELETE FROM results WHERE at < ?", (before,))


async def find(store: Store, tenant: str, call: str) -> dict[str, Any] | None:
    """A stored result. `room` and `kind` are None if the record of its call was moved out of the ledger table."""
    rows = await store.read(
        "SELECT call, caller, behalf, at, body, (SELECT room FROM ledger WHERE ledger.call = results.call) AS room,"
        " (SELECT kind FROM ledger WHERE ledger.call = results.call) AS kind"
        " FROM results WHERE tenant = ? AND call = ?",
        (tenant, call),
    )
    return rows[0] if rows else None
