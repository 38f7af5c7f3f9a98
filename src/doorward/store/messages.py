"""SQL for messages, their earlier versions and the read marks of members."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from doorward.store.sqlite import Statement, Store

_COLUMNS = (
    "id, tenant, room, sender, kind, text, at, position, revision,"
    " edited_at, deleted_at, deleted_by, reply_to, attachments, behalf"
)
_HERE = "tenant = ? AND room = ?"
MOST_UNREAD = 100
"""Unread messages are counted up to this number. Beyond it the exact number does not matter."""


async def newest_revision(store: Store, tenant: str, room: str) -> int:
    rows = await store.read(f"SELECT coalesce(max(revision), 0) AS newest FROM messages WHERE {_HERE}", (tenant, room))
    return int(rows[0]["newest"])


def insert(row: dict[str, Any]) -> Statement:
    """Insert a message, unless its sender has already sent one with the same key in that room."""
    return Statement(
        f"INSERT INTO messages ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        " ON CONFLICT (tenant, room, sender, behalf, key) WHERE key <> '' DO NOTHING",
        list(row.values()),
        rows=1,
        otherwise="the message was already sent",
    )


async def sent(store: Store, tenant: str, room: str, by: tuple[str, str], key: str) -> dict[str, Any] | None:
    """The message that a sender, on somebody's behalf, sent with this key."""
    rows = await store.read(
        f"SELECT {_COLUMNS} FROM messages WHERE {_HERE} AND sender = ? AND behalf = ? AND key = ? AND key <> ''",
        (tenant, room, *by, key),
    )
    return rows[0] if rows else None


def change(row: dict[str, Any], *, since: int | None) -> Statement:
    """Update a message to `row` if it still has the revision `since`; with None, if it is not deleted."""
    seen = ("deleted_at IS NULL", ()) if since is None else ("revision = ?", (since,))
    return Statement(
        "UPDATE messages SET text = ?, attachments = ?, revision = ?, edited_at = ?, deleted_at = ?, deleted_by = ?"
        f" WHERE id = ? AND {_HERE} AND {seen[0]}",
        (
            row["text"],
            row["attachments"],
            row["revision"],
            row["edited_at"],
            row["deleted_at"],
            row["deleted_by"],
            row["id"],
            row["tenant"],
            row["room"],
            *seen[1],
        ),
        rows=1,
        otherwise="the message changed in the meantime",
    )


def keep_version(row: dict[str, Any], change: str, by: str, at: float) -> Statement:
    """Store the version of a message before a change."""
    return Statement(
        "INSERT INTO message_edits (message, revision, text, attachments, change, by, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (row["id"], row["revision"], row["text"], row["attachments"], change, by, at),
    )


async def versions(store: Store, id: str) -> list[dict[str, Any]]:
    """The earlier versions of a message, oldest first."""
    return await store.read(
        "SELECT revision, text, attachments, change, by, at FROM message_edits WHERE message = ? ORDER BY revision",
        (id,),
    )


async def find(store: Store, tenant: str, room: str, id: str) -> dict[str, Any] | None:
    rows = await store.read(f"SELECT {_COLUMNS} FROM messages WHERE {_HERE} AND id = ?", (tenant, room, id))
    return rows[0] if rows else None


async def is_message_in(store: Store, tenant: str, rooms: Sequence[str], id: str) -> bool:
    return bool(
        await store.read(
            "SELECT 1 FROM messages WHERE id = ? AND tenant = ? AND room IN (SELECT value FROM json_each(?))",
            (id, tenant, json.dumps(list(rooms))),
        )
    )


async def before(store: Store, tenant: str, room: str, position: int | None, limit: int) -> list[dict[str, Any]]:
    """The newest messages, or the newest before a position, newest first."""
    where, values = ("", ()) if position is None else (" AND position < ?", (position,))
    return await store.read(
        f"SELECT {_COLUMNS} FROM messages WHERE {_HERE}{where} ORDER BY position DESC LIMIT ?",
        (tenant, room, *values, limit),
    )


async def after(store: Store, tenant: str, room: str, position: int, limit: int) -> list[dict[str, Any]]:
    """The oldest messages after a position, oldest first."""
    return await store.read(
        f"SELECT {_COLUMNS} FROM messages WHERE {_HERE} AND position > ? ORDER BY position LIMIT ?",
        (tenant, room, position, limit),
    )


async def since(store: Store, tenant: str, room: str, revision: int, limit: int) -> list[dict[str, Any]]:
    """The messages created or changed since a revision, in the order of these changes."""
    return await store.read(
        f"SELECT {_COLUMNS} FROM messages WHERE {_HERE} AND revision > ? ORDER BY revision LIMIT ?",
        (tenant, room, revision, limit),
    )


async def search(
    store: Store, tenant: str, rooms: Sequence[str], words: Sequence[str], before: str, limit: int
) -> list[dict[str, Any]]:
    """Messages that contain all of these words, newest first. The last word can be a prefix."""
    quoted = ['"' + word.replace('"', '""') + '"' for word in words]
    columns = ", ".join(f"m.{name.strip()}" for name in _COLUMNS.split(","))
    return await store.read(
        f"SELECT {columns} FROM messages_fts AS f JOIN messages AS m ON m.n = f.rowid"
        " WHERE messages_fts MATCH ? AND m.tenant = ? AND m.room IN (SELECT value FROM json_each(?))"
        " AND m.deleted_at IS NULL AND (? = '' OR f.rowid < (SELECT o.n FROM messages AS o WHERE o.id = ?))"
        " ORDER BY f.rowid DESC LIMIT ?",
        (" AND ".join(quoted) + "*", tenant, json.dumps(list(rooms)), before, before, limit),
    )


async def last_by(store: Store, tenant: str, room: str, sender: str, before: int) -> float:
    """When a sender posted last in a room before a position; 0 if never."""
    rows = await store.read(
        f"SELECT at FROM messages WHERE {_HERE} AND sender = ? AND position < ? ORDER BY position DESC LIMIT 1",
        (tenant, room, sender, before),
    )
    return float(rows[0]["at"]) if rows else 0.0


def mark(tenant: str, room: str, member: str, position: int, at: float) -> Statement:
    return Statement(
        "INSERT INTO marks (tenant, room, member, position, at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (tenant, room, member) DO UPDATE SET position = excluded.position, at = excluded.at",
        (tenant, room, member, position, at),
    )


async def unread(store: Store, tenant: str, rooms: Sequence[str], member: str) -> list[dict[str, Any]]:
    """For each room: a member's read position, and the number of later messages of others, up to `MOST_UNREAD`."""
    return await store.read(
        "SELECT r.value AS room, coalesce(k.position, 0) AS position, (SELECT count(*) FROM ("
        " SELECT 1 FROM messages AS m WHERE m.tenant = ? AND m.room = r.value AND m.position > coalesce(k.position, 0)"
        f" AND m.sender <> ? AND m.deleted_at IS NULL LIMIT {MOST_UNREAD})) AS unread"
        " FROM json_each(?) AS r LEFT JOIN marks AS k ON k.tenant = ? AND k.room = r.value AND k.member = ?",
        (tenant, member, json.dumps(list(rooms)), tenant, member),
    )
