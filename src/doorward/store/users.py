"""SQL for users and tokens."""

from __future__ import annotations

from typing import Any

from doorward.store.sqlite import Statement, Store


async def all_users(store: Store) -> list[dict[str, Any]]:
    return await store.read("SELECT tenant, id, name, kind, access, active FROM users")


def insert_user(tenant: str, id: str, name: str, kind: str, access: int, at: float) -> Statement:
    return Statement(
        "INSERT INTO users (tenant, id, name, kind, access, created_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (tenant, id, name, kind, access, at),
        rows=1,
        otherwise=f"user {id!r} already exists",
    )


def change_user(tenant: str, id: str, access: int, active: bool) -> Statement:
    return Statement(
        "UPDATE users SET access = ?, active = ? WHERE tenant = ? AND id = ?",
        (access, active, tenant, id),
        rows=1,
        otherwise=f"there is no user {id!r}",
    )


def delete_user(tenant: str, id: str) -> Statement:
    return Statement("DELETE FROM users WHERE tenant = ? AND id = ?", (tenant, id))


async def all_tokens(store: Store) -> list[dict[str, Any]]:
    return await store.read(
        "SELECT id, tenant, user, name, kind, access, rooms, created_at, expires_at, revoked_at FROM tokens"
    )


def insert_token(
    id: str,
    tenant: str,
    user: str,
    name: str,
    kind: str,
    access: int,
    rooms: str | None,
    created_at: float,
    expires_at: float,
) -> Statement:
    return Statement(
        "INSERT INTO tokens (id, tenant, user, name, kind, access, rooms, created_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (id, tenant, user, name, kind, access, rooms, created_at, expires_at),
    )


def revoke_token(tenant: str, id: str, at: float) -> Statement:
    return Statement(
        "UPDATE tokens SET revoked_at = ? WHERE tenant = ? AND id = ? AND revoked_at IS NULL",
        (at, tenant, id),
        rows=1,
        otherwise=f"there is no valid token {id!r}",
    )
