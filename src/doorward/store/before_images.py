"""Before-images: the replaced content of each change, so that it can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from doorward.core.model import Call
from doorward.store.ledger.record import with_origin
from doorward.store.sqlite import Statement, Store

DROPPED = "dropped"
"""Stands for the execution that undid a change when the bytes of the change were dropped, so that nobody can."""
_LOOKED_AT = 500
"""How many of the newest changes are searched for those of one conversation."""


class BeforeImage(msgspec.Struct, frozen=True):
    """One target that one execution changed."""

    call: str
    n: int
    tenant: str
    caller: str
    behalf: str
    command: str
    kind: str
    target: str
    before: bytes | None
    """The previous bytes; None if the target did not exist."""
    after: str
    """The state after the execution. An undo checks that the target still has it."""
    undone_by: str
    """The execution that undid it; empty for none, or `DROPPED`."""
    at: float
    workspace: str
    """The folder that was changed; empty for the tenant's, in changes from before rooms had their own."""


def store_image(
    call: Call,
    *,
    kind: str,
    target: str,
    before: bytes | None,
    after: str,
    at: float,
    n: int = 0,
    workspace: str = "",
) -> Statement:
    """Store the content that is about to be replaced. Belongs in the same write as the change.

    `workspace` is given when the change is made in another folder than the call works in.
    """
    caller = call.caller
    return Statement(
        "INSERT INTO before_images"
        " (call, n, tenant, caller, behalf, command, kind, target, before, after, at, workspace)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            call.id,
            n,
            caller.tenant,
            caller.id,
            caller.on_behalf_of,
            call.command.name,
            kind,
            target,
            before,
            after,
            at,
            workspace or call.workspace,
        ),
    )


def mark_undone(call: str, by: str) -> Statement:
    """Mark an execution as undone, so that it is undone only once."""
    return Statement(
        "UPDATE before_images SET undone_by = ? WHERE call = ? AND undone_by = ''",
        (by, call),
    )


def forget(before: float) -> Statement:
    return Statement("DELETE FROM before_images WHERE at < ?", (before,))


async def drop_beyond(store: Store, most: int) -> int:
    """Drop the bytes of the oldest executions, so that at most `most` bytes stay. Returns how many executions."""
    found = await store.read(
        "SELECT call FROM (SELECT call, size, sum(size) OVER (ORDER BY newest DESC, call DESC) AS total FROM"
        " (SELECT call, max(at) AS newest, coalesce(sum(length(before)), 0) AS size FROM before_images GROUP BY call))"
        " WHERE total > ? AND size > 0",
        (most,),
    )
    if found:
        calls = msgspec.json.encode([row["call"] for row in found]).decode()
        await store.write(
            Statement(
                "UPDATE before_images SET before = NULL, undone_by = CASE undone_by WHEN '' THEN ? ELSE undone_by END"
                " WHERE call IN (SELECT value FROM json_each(?))",
                (DROPPED, calls),
            )
        )
    return len(found)


async def of_call(store: Store, tenant: str, call: str) -> list[BeforeImage]:
    rows = await store.read("SELECT * FROM before_images WHERE tenant = ? AND call = ? ORDER BY n", (tenant, call))
    return [_image(row) for row in rows]


async def list_texts(store: Store, kind: str) -> list[bytes]:
    """The previous bytes of every change of this kind that is still kept, undone or not."""
    rows = await store.read("SELECT before FROM before_images WHERE kind = ? AND before IS NOT NULL", (kind,))
    return [row["before"] for row in rows]


class ChangeTrace(msgspec.Struct, frozen=True):
    """A before-image without its bytes, which may be large."""

    call: str
    caller: str
    behalf: str
    command: str
    size: int | None
    """The number of replaced bytes; None if the target did not exist."""
    after: str
    undone_by: str
    at: float


async def of_target(
    store: Store, tenant: str, kind: str, target: str, workspaces: Sequence[str], limit: int
) -> list[ChangeTrace]:
    """The changes of one target in any of these workspaces, newest first."""
    rows = await store.read(
        "SELECT call, caller, behalf, command, length(before) AS size, after, undone_by, at FROM before_images"
        " WHERE tenant = ? AND kind = ? AND target = ? AND workspace IN (SELECT value FROM json_each(?))"
        " ORDER BY at DESC, call DESC LIMIT ?",
        (tenant, kind, target, msgspec.json.encode(workspaces).decode(), limit),
    )
    return [msgspec.convert(row, ChangeTrace) for row in rows]


class RecordedChange(msgspec.Struct, frozen=True):
    """The targets of one execution that has not been undone."""

    call: str
    command: str
    targets: tuple[str, ...]


async def open_changes(
    store: Store,
    tenant: str,
    by: tuple[str, str],
    room: str,
    *,
    requests: Sequence[str] | None = None,
    limit: int = 5,
) -> list[RecordedChange]:
    """The changes in a room that can still be undone, newest first, without undos.

    `by` is the caller and the person it acts for. With `requests`, only changes the keeper made for these requests.
    """
    notes = None if requests is None else msgspec.json.encode([with_origin("", one) for one in requests]).decode()
    rows = await store.read(
        "SELECT call, command, json_group_array(target) AS targets, max(at) AS newest FROM"
        " (SELECT call, command, target, at FROM before_images WHERE tenant = ?1 AND caller = ?2 AND behalf = ?3"
        " AND undone_by = '' ORDER BY at DESC LIMIT ?6) AS changed"
        " WHERE command NOT IN ('undo', 'file/undo') AND EXISTS (SELECT 1 FROM ledger WHERE ledger.call = changed.call"
        " AND phase = 'start' AND room = ?4 AND (?5 IS NULL OR note IN (SELECT value FROM json_each(?5))))"
        " GROUP BY call ORDER BY newest DESC LIMIT ?7",
        (tenant, *by, room, notes, _LOOKED_AT, limit),
    )
    return [RecordedChange(row["call"], row["command"], tuple(msgspec.json.decode(row["targets"]))) for row in rows]


def _image(row: dict[str, Any]) -> BeforeImage:
    return msgspec.convert(row, BeforeImage)
