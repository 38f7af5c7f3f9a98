"""SQL for browser sessions. Their two secrets are stored only as hashes."""

from __future__ import annotations

from typing import Any

from doorward.store.sqlite import Statement, Store


async def live_sessions(store: Store, now: float) -> list[dict[str, Any]]:
    return await store.read(
        "SELECT id, tenant, user, hash, proof, agent, created_at, expires_at FROM browsers WHERE expires_at > ?", (now,)
    )


def insert(
    id: str, tenant: str, user: str, hash: str, proof: str, agent: str, created_at: float, expires_at: float
) -> Statement:
    return Statement(
        "INSERT INTO browsers (id, tenant, user, hash, proof, agent, created_at, expires_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (id, tenant, user, hash, proof, agent, created_at, expires_at),
    )


def delete(*ids: str) -> list[Statement]:
    return [Statement("DELETE FROM browsers WHERE id = ?", (id,)) for id in ids]


def delete_of(tenant: str, user: str) -> Statement:
    return Statement("DELETE FROM browsers WHERE tenant = ? AND user = ?", (tenant, user))


def forget(now: float) -> Statement:
    return Statement("DELETE FROM browsers WHERE expires_at <= ?", (now,))
