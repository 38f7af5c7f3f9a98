"""SQL for drafts: copy-on-write views of a room's workspace that agents work on."""

from __future__ import annotations

from typing import Any

from doorward.store.sqlite import Statement, Store


async def all_drafts(store: Store) -> list[dict[str, Any]]:
    return await store.read(
        "SELECT tenant, id, room, caller, behalf, name, workspace, merging, last_run, last_merge,"
        " created_at FROM drafts"
    )


def insert_draft(
    tenant: str, id: str, *, room: str, caller: str, behalf: str, name: str, workspace: str, at: float
) -> Statement:
    return Statement(
        "INSERT INTO drafts (tenant, id, room, caller, behalf, name, workspace, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (tenant, id, room, caller, behalf, name, workspace, at),
    )


def set_merging(id: str, call: str) -> Statement:
    """Note the call that merges the draft now, so that a merge that was interrupted can be reverted; empty for none."""
    return Statement("UPDATE drafts SET merging = ? WHERE id = ?", (call, id))


def set_last_run(id: str, run: str) -> Statement:
    return Statement("UPDATE drafts SET last_run = ? WHERE id = ?", (run, id))


def set_last_merge(id: str, merge: str) -> Statement:
    return Statement("UPDATE drafts SET last_merge = ? WHERE id = ?", (merge, id))


def delete_draft(id: str) -> Statement:
    return Statement("DELETE FROM drafts WHERE id = ?", (id,))
