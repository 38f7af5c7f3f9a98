"""SQL for a caller's shell history, read from the ledger."""

from __future__ import annotations

from typing import Any

from doorward.store.sqlite import Store


async def newest(store: Store, tenant: str, caller: str, behalf: str, *, room: str, limit: int) -> list[dict[str, Any]]:
    """A caller's last finished or refused shell commands in one room, newest first.

    Only the newest part of the ledger is searched, so that a caller with few commands does not cause a full scan.
    """
    return await store.read(
        "SELECT call, at, command, status, duration, note, CASE WHEN phase = 'end'"
        " THEN (SELECT params FROM ledger AS begun WHERE begun.call = ledger.call AND begun.phase = 'start')"
        " ELSE params END AS params FROM ledger"
        " WHERE seq > (SELECT max(seq) FROM ledger) - 100000 AND phase != 'start'"
        " AND tenant = :tenant AND caller = :caller AND behalf = :behalf AND room = :room"
        " AND (command LIKE 'shell/%' OR command = 'bash') ORDER BY seq DESC LIMIT :limit",
        {"tenant": tenant, "caller": caller, "behalf": behalf, "room": room, "limit": limit},
    )
