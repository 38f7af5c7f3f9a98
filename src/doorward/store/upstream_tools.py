"""SQL for upstream servers and the definitions of their tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from doorward.store.sqlite import Statement, Store


async def servers(store: Store) -> list[dict[str, Any]]:
    return await store.read("SELECT * FROM upstream_servers")


async def tools(store: Store) -> list[dict[str, Any]]:
    """All known tools with the definition last seen, in the order their servers list them."""
    return await store.read(
        "SELECT server, tool, listed, trusted, seen, pinned, definition FROM upstream_tools ORDER BY server, position"
    )


async def approved(store: Store, server: str, tool: str) -> str | None:
    """The approved definition of a tool."""
    rows = await store.read("SELECT approved FROM upstream_tools WHERE server = ? AND tool = ?", (server, tool))
    return rows[0]["approved"] if rows else None


def put_servers(rows: Sequence[dict[str, Any]], at: float) -> Statement:
    """Store the current state of these servers. `added_at` is now for a new or returned one."""
    return Statement(
        "INSERT INTO upstream_servers (id, tenant, name, transport, origin, enabled, state, problem, since, added_at)"
        " SELECT value ->> 'id', value ->> 'tenant', value ->> 'name', value ->> 'transport', value ->> 'origin',"
        " value ->> 'enabled', value ->> 'state', value ->> 'problem', value ->> 'since', ? FROM json_each(?)"
        " WHERE TRUE ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, name = excluded.name,"
        " transport = excluded.transport, origin = excluded.origin, enabled = excluded.enabled,"
        " state = excluded.state, problem = excluded.problem, since = excluded.since, removed_at = NULL,"
        " added_at = CASE WHEN removed_at IS NULL THEN added_at ELSE excluded.added_at END",
        (at, json.dumps(list(rows))),
    )


def remove_servers(ids: Sequence[str], at: float) -> Statement:
    """Mark servers that are no longer in the file as removed. Their tools are kept in case they return."""
    return Statement(
        "UPDATE upstream_servers SET removed_at = ?, enabled = 0, state = 'removed', problem = ''"
        " WHERE id IN (SELECT value FROM json_each(?))",
        (at, json.dumps(list(ids))),
    )


def forget_tools(server: str) -> list[Statement]:
    """Delete the tools stored under this id, because they belong to another server."""
    return [
        Statement("DELETE FROM upstream_tools WHERE server = ?", (server,)),
        Statement("UPDATE upstream_servers SET seen = 0 WHERE id = ?", (server,)),
    ]


def put_tools(server: str, rows: Sequence[dict[str, Any]], at: float) -> list[Statement]:
    """Store a server's current tools. A new tool is pinned to its first definition; known tools keep their pin."""
    return [
        Statement("UPDATE upstream_servers SET seen = 1 WHERE id = ? AND seen = 0", (server,)),
        Statement("UPDATE upstream_tools SET listed = 0 WHERE server = ?", (server,)),
        Statement(
            "INSERT INTO upstream_tools"
            " (server, tool, position, listed, trusted, seen, pinned, pinned_at, definition, approved)"
            " SELECT ?, value ->> 'tool', value ->> 'position', value ->> 'listed', value ->> 'trusted',"
            " value ->> 'digest', value ->> 'pinned', ?, value ->> 'definition', value ->> 'approved'"
            " FROM json_each(?) WHERE TRUE ON CONFLICT (server, tool) DO UPDATE SET position = excluded.position,"
            " listed = excluded.listed, seen = excluded.seen, definition = excluded.definition",
            (server, at, json.dumps(list(rows))),
        ),
    ]


def pin(server: str, tool: str, digest: str, at: float) -> Statement:
    """Approve the last seen definition, if it still has this digest."""
    return Statement(
        "UPDATE upstream_tools SET pinned = seen, approved = definition, trusted = 1, pinned_at = ?"
        " WHERE server = ? AND tool = ? AND seen = ?",
        (at, server, tool, digest),
        1,
        "the definition changed again in the meantime",
    )
