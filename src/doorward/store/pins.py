"""SQL of upstream servers and of the definitions of their tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from doorward.store.sqlite import Statement, Store


async def servers(store: Store) -> list[dict[str, Any]]:
    return await store.read("SELECT * FROM upstream_servers")


async def tools(store: Store) -> list[dict[str, Any]]:
    """What is known of every tool, each with the definition last seen, in the order in which servers list them."""
    return await store.read(
        "SELECT server, tool, listed, trusted, seen, pinned, definition FROM upstream_tools ORDER BY server, position"
    )


async def approved(store: Store, server: str, tool: str) -> str | None:
    """The definition that a tool is pinned to."""
    rows = await store.read("SELECT approved FROM upstream_tools WHERE server = ? AND tool = ?", (server, tool))
    return rows[0]["approved"] if rows else None


def put_servers(rows: Sequence[dict[str, Any]], at: float) -> Statement:
    """How these servers stand now; one that is new, or back, counts from this moment."""
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
    """These are no longer in the file. What is known of their tools stays, in case they come back."""
    return Statement(
        "UPDATE upstream_servers SET removed_at = ?, enabled = 0, state = 'removed', problem = ''"
        " WHERE id IN (SELECT value FROM json_each(?))",
        (at, json.dumps(list(ids))),
    )


def forget_tools(server: str) -> list[Statement]:
    """What was known under this id was of another server."""
    return [
        Statement("DELETE FROM upstream_tools WHERE server = ?", (server,)),
        Statement("UPDATE upstream_servers SET seen = 0 WHERE id = ?", (server,)),
    ]


def put_tools(server: str, rows: Sequence[dict[str, Any]], at: float) -> list[Statement]:
    """What a server lists now. A tool that is new is pinned to what it first was; of others only that is noted."""
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
    """What was seen last, if it is still this, is what people approved."""
    return Statement(
        "UPDATE upstream_tools SET pinned = seen, approved = definition, trusted = 1, pinned_at = ?"
        " WHERE server = ? AND tool = ? AND seen = ?",
        (at, server, tool, digest),
        1,
        "the definition changed again in the meantime",
    )
