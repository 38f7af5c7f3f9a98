"""SQL for rooms and their members."""

from __future__ import annotations

from typing import Any

from doorward.store.sqlite import Statement, Store

DIRECT = "direct-"
"""The prefix of direct-message rooms. It is reserved, so that nobody can prepare such a room in advance."""


async def all_rooms(store: Store) -> list[dict[str, Any]]:
    return await store.read("SELECT tenant, id, name, recipe, archived, version, topic, direct, workspace FROM rooms")


async def all_members(store: Store) -> list[dict[str, Any]]:
    return await store.read("SELECT tenant, room, id, kind, role FROM members")


def insert_room(
    tenant: str,
    id: str,
    *,
    name: str,
    recipe: str,
    archived: bool,
    topic: str,
    direct: bool,
    workspace: str,
    at: float,
) -> Statement:
    return Statement(
        "INSERT INTO rooms (tenant, id, name, recipe, archived, topic, direct, workspace, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (tenant, id, name, recipe, archived, topic, direct, workspace, at),
        rows=1,
        otherwise=f"room {id!r} already exists",
    )


def change_room(
    tenant: str, id: str, version: int, *, name: str, recipe: str, archived: bool, topic: str, workspace: str
) -> Statement:
    return Statement(
        "UPDATE rooms SET name = ?, recipe = ?, archived = ?, topic = ?, workspace = ?, version = version + 1"
        " WHERE tenant = ? AND id = ? AND version = ?",
        (name, recipe, archived, topic, workspace, tenant, id, version),
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
