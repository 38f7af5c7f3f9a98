"""SQL of small things one process leaves for the next."""

from __future__ import annotations

from doorward.store.sqlite import Statement, Store


async def get(store: Store, name: str) -> str | None:
    rows = await store.read("SELECT body FROM keepsakes WHERE name = ?", (name,))
    return rows[0]["body"] if rows else None


def put(name: str, body: str) -> Statement:
    return Statement(
        "INSERT INTO keepsakes (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body",
        (name, body),
    )
