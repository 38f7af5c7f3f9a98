"""SQL for passwords, sessions and invitations. Secrets are stored only as hashes."""

from __future__ import annotations

from typing import Any

from doorward.store.sqlite import Statement, Store


async def password(store: Store, tenant: str, user: str) -> str | None:
    """The hash of a user's password; None if the user has no password."""
    rows = await store.read("SELECT hash FROM passwords WHERE tenant = ? AND user = ?", (tenant, user))
    return rows[0]["hash"] if rows else None


def put_password(tenant: str, user: str, hash: str, at: float) -> Statement:
    return Statement(
        "INSERT INTO passwords (tenant, user, hash, changed_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (tenant, user) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at",
        (tenant, user, hash, at),
    )


def delete_password(tenant: str, user: str) -> Statement:
    return Statement("DELETE FROM passwords WHERE tenant = ? AND user = ?", (tenant, user))


async def live_sessions(store: Store, now: float) -> list[dict[str, Any]]:
    return await store.read(
        "SELECT id, tenant, user, refresh, created_at, expires_at FROM sessions"
        " WHERE revoked_at IS NULL AND expires_at > ?",
        (now,),
    )


def insert_session(id: str, tenant: str, user: str, refresh: str, created_at: float, expires_at: float) -> Statement:
    return Statement(
        "INSERT INTO sessions (id, tenant, user, refresh, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
        (id, tenant, user, refresh, created_at, expires_at),
    )


def require_same_password(tenant: str, user: str, hash: str) -> Statement:
    """Changes nothing, but makes its write fail if the password has changed in the meantime."""
    return Statement(
        "UPDATE passwords SET hash = hash WHERE tenant = ? AND user = ? AND hash = ?",
        (tenant, user, hash),
        rows=1,
        otherwise="the password was changed in the meantime",
    )


def revoke_sessions(tenant: str, user: str, at: float) -> Statement:
    return Statement(
        "UPDATE sessions SET revoked_at = ? WHERE tenant = ? AND user = ? AND revoked_at IS NULL", (at, tenant, user)
    )


def rotate_session(id: str, old: str, new: str, expires_at: float) -> Statement:
    """Replace the refresh token. If two requests use the same token, only the first one succeeds."""
    return Statement(
        "UPDATE sessions SET refresh = ?, expires_at = ? WHERE id = ? AND refresh = ? AND revoked_at IS NULL",
        (new, expires_at, id, old),
        rows=1,
        otherwise="this refresh token was used in the meantime",
    )


def revoke_session(id: str, at: float) -> Statement:
    return Statement("UPDATE sessions SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (at, id))


def insert_invitation(hash: str, tenant: str, created_by: str, at: float, expires_at: float) -> Statement:
    return Statement(
        "INSERT INTO invitations (hash, tenant, created_by, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
        (hash, tenant, created_by, at, expires_at),
    )


async def invitation(store: Store, hash: str) -> dict[str, Any] | None:
    rows = await store.read("SELECT tenant, expires_at, used_at FROM invitations WHERE hash = ?", (hash,))
    return rows[0] if rows else None


def use_invitation(hash: str, at: float) -> Statement:
    return Statement(
        "UPDATE invitations SET used_at = ? WHERE hash = ? AND used_at IS NULL AND expires_at > ?",
        (at, hash, at),
        rows=1,
        otherwise="the passcode was used in the meantime",
    )


def forget(now: float) -> list[Statement]:
    """Delete expired and revoked sessions and expired invitations."""
    return [
        Statement("DELETE FROM sessions WHERE expires_at < ? OR revoked_at < ?", (now, now - 86_400)),
        Statement("DELETE FROM invitations WHERE expires_at < ?", (now - 86_400,)),
    ]
