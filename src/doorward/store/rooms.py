"""SQL of rooms, their members and their messages."""

from __future__ import annotations

from typing import Any

from doorward.store.sqlite import Statement, Store


async def all_rooms(store: Store) -> list[dict[str, Any]]:
    return await store.read("SELECT tenant, id, name, recipe, archived, version, created_at FROM rooms")


async def all_members(store: Store) -> list[dict[str, Any]]:
    return await store.read("SELECT tenant, room, id, kind, role FROM members")


def insert_room(tenant: str, id: str, name: str, recipe: str, at: float) -> Statement:
    return Statement(
        "INSERT INTO rooms (tenant, id, name, recipe, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (tenant, id, name, recipe, at),
        rows=1,
        otherwise=f"there is a room {id!r} already",
    )


def change_room(tenant: str, id: str, version: int, *, name: str, recipe: str, archived: bool) -> Statement:
    return Statement(
        "UPDATE rooms SET name = ?, recipe = ?, archived = ?, version = version + 1"
        " WHERE tenant = ? AND id = ? AND version = ?",
        (name, recipe, archived, tenant, id, version),
        rows=1,
        otherwise=f"the room {id!r} changed in the meantime",
    )


def delete_room(tenant: str, id: str, version: int) -> Statement:
    return Statement(
        "DELETE FROM rooms WHERE tenant = ? AND id = ? AND version = ?",
        (tenant, id, version),
        rows=1,
        otherwise=f"the room {id!r} changed in the meantime",
    )


def put_member(tenant: str, room: str, id: str, kind: str, role: str) -> Statement:
    return Statement(
        "INSERT INTO members (tenant, room, id, kind, role) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (tenant, room, id) DO UPDATE SET kind = excluded.kind, role = excluded.role",
        (tenant, room, id, kind, role),
    )


def delete_members(tenant: str, room: str) -> Statement:
    return Statement("DELETE FROM members WHERE tenant = ? AND room = ?", (tenant, room))


def insert_message(id: str, tenant: str, room: str, sender: str, kind: str, text: str, at: float) -> Statement:
    return Statement(
        "INSERT INTO messages (id, tenant, room, sender, kind, text, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (id, tenant, room, sender, kind, text, at),
    )


async def messages(store: Store, tenant: str, room: str, *, before: str, limit: int) -> list[dict[str, Any]]:
    """The newest messages of a room, or the newest before one of them; ids sort by time."""
    return await store.read(
        "SELECT id, sender, kind, text, at FROM messages"
        " WHERE tenant = ? AND room = ? AND (? = '' OR id < ?) ORDER BY id DESC LIMIT ?",
        (tenant, room, before, before, limit),
    )
