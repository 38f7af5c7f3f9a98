"""SQL for message attachments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from doorward.store.sqlite import Statement, Store


def insert(tenant: str, room: str, uploader: str, row: dict[str, Any], content: bytes, at: float) -> Statement:
    return Statement(
        "INSERT INTO attachments (id, tenant, room, uploader, name, media_type, size, at, bytes)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (row["id"], tenant, room, uploader, row["name"], row["media_type"], row["size"], at, content),
    )


async def find(store: Store, tenant: str, room: str, ids: Sequence[str]) -> list[dict[str, Any]]:
    return await store.read(
        "SELECT id, uploader, name, media_type, size, message FROM attachments"
        " WHERE tenant = ? AND room = ? AND id IN (SELECT value FROM json_each(?))",
        (tenant, room, json.dumps(list(ids))),
    )


def attach(tenant: str, room: str, uploader: str, id: str, message: str) -> Statement:
    """Attach an upload to a message. Each upload has one message, and only its uploader can attach it."""
    return Statement(
        "UPDATE attachments SET message = ? WHERE id = ? AND tenant = ? AND room = ? AND uploader = ? AND message = ''",
        (message, id, tenant, room, uploader),
        rows=1,
        otherwise=f"the upload {id} does not exist, belongs to somebody else, or is already attached to a message",
    )


async def content(store: Store, tenant: str, room: str, id: str, offset: int, length: int) -> bytes:
    rows = await store.read(
        "SELECT substr(bytes, ? + 1, ?) AS bytes FROM attachments WHERE tenant = ? AND room = ? AND id = ?",
        (offset, length, tenant, room, id),
    )
    return bytes(rows[0]["bytes"]) if rows else b""


async def unattached(store: Store, tenant: str, uploader: str) -> int:
    """The number of a user's uploads that are not attached to a message yet."""
    rows = await store.read(
        "SELECT count(*) AS many FROM attachments WHERE message = '' AND tenant = ? AND uploader = ?",
        (tenant, uploader),
    )
    return int(rows[0]["many"])


def delete_unattached(before: float) -> Statement:
    return Statement("DELETE FROM attachments WHERE message = '' AND at < ?", (before,))
