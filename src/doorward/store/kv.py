"""SQL for the key-value store of small states that outlive the process."""

from __future__ import annotations

import sqlite3

from doorward.store.sqlite import Statement, Store


async def get(store: Store, name: str) -> str | None:
    rows = await store.read("SELECT body FROM keepsakes WHERE name = ?", (name,))
    return rows[0]["body"] if rows else None


def read(db: sqlite3.Connection, name: str) -> str | None:
    """Like `get`, on a given connection."""
    row = db.execute("SELECT body FROM keepsakes WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def put(name: str, body: str) -> Statement:
    return Statement(
        "INSERT INTO keepsakes (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body",
        (name, body),
    )
