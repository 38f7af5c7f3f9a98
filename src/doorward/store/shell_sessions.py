"""SQL for shell sessions. The state of a session is one body, read and written as a whole."""

from __future__ import annotations

from typing import Any

from doorward.store.sqlite import Statement, Store


async def get(store: Store, tenant: str, user: str, agent: str, id: str) -> dict[str, Any] | None:
    rows = await store.read(
        "SELECT body, used_at FROM shell_sessions WHERE id = ? AND tenant = ? AND user = ? AND agent = ?",
        (id, tenant, user, agent),
    )
    return rows[0] if rows else None


async def newest(store: Store, tenant: str, user: str, agent: str, limit: int) -> list[dict[str, Any]]:
    return await store.read(
        "SELECT body, used_at FROM shell_sessions WHERE tenant = ? AND user = ? AND agent = ?"
        " ORDER BY used_at DESC, id DESC LIMIT ?",
        (tenant, user, agent, limit),
    )


def put(id: str, tenant: str, user: str, agent: str, body: str, used_at: float) -> Statement:
    return Statement(
        "INSERT INTO shell_sessions (id, tenant, user, agent, body, used_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (tenant, user, agent, id) DO UPDATE SET body = excluded.body, used_at = excluded.used_at,"
        " uses = uses + 1",
        (id, tenant, user, agent, body, used_at),
    )


def keep_newest(tenant: str, user: str, agent: str, most: int) -> Statement:
    """Delete sessions beyond `most`: first those used only once, least recently used first.

    A session in which a call waits for approval is deleted last. The newest sessions stay, because a session that has
    just begun is likely to continue.
    """
    return Statement(
        "DELETE FROM shell_sessions WHERE tenant = ?1 AND user = ?2 AND agent = ?3 AND id NOT IN"
        " (SELECT id FROM (SELECT id, uses, used_at, row_number() OVER (ORDER BY used_at DESC, id DESC) AS place"
        " FROM shell_sessions WHERE tenant = ?1 AND user = ?2 AND agent = ?3) AS one ORDER BY"
        " EXISTS (SELECT 1 FROM keeper_waits WHERE keeper_waits.tenant = ?1 AND session = one.id) DESC,"
        " place <= ?5 DESC, uses > 1 DESC, place LIMIT ?4)",
        (tenant, user, agent, most, max(1, most // 4)),
    )


def delete(tenant: str, user: str, agent: str, id: str) -> Statement:
    return Statement(
        "DELETE FROM shell_sessions WHERE tenant = ? AND user = ? AND agent = ? AND id = ?", (tenant, user, agent, id)
    )


def forget(before: float) -> Statement:
    return Statement("DELETE FROM shell_sessions WHERE used_at < ?", (before,))
