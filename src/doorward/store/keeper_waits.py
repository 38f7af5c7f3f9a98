"""SQL for the saved state of the keeper while one of its calls waits for approval."""

from __future__ import annotations

from doorward.store.sqlite import Statement, Store


async def get(store: Store, tenant: str, session: str, ticket: str) -> str | None:
    """The saved state for this ticket, if it belongs to that session."""
    rows = await store.read(
        "SELECT body FROM keeper_waits WHERE ticket = ? AND tenant = ? AND session = ?", (ticket, tenant, session)
    )
    return str(rows[0]["body"]) if rows else None


def put(ticket: str, tenant: str, session: str, body: str, at: float) -> Statement:
    """Save the state for a ticket. Never overwrites the state of another session."""
    return Statement(
        "INSERT INTO keeper_waits (ticket, tenant, session, body, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (ticket)"
        " DO UPDATE SET body = excluded.body, at = excluded.at"
        " WHERE tenant = excluded.tenant AND session = excluded.session",
        (ticket, tenant, session, body, at),
        rows=1,
        otherwise="another session is already waiting for this approval",
    )


def close(tenant: str, session: str, ticket: str) -> Statement:
    return Statement(
        "DELETE FROM keeper_waits WHERE ticket = ? AND tenant = ? AND session = ?", (ticket, tenant, session)
    )


def forget(before: float) -> Statement:
    return Statement("DELETE FROM keeper_waits WHERE at < ?", (before,))
