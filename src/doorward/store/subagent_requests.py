"""SQL for the requests of agents to their sub-agents."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from doorward.store.sqlite import Statement, Store

_COLUMNS = (
    "id, tenant, agent, room, asker, kind, params, priority, state, progress, message, result, error, energy,"
    " collected, ticket, created_at, started_at, ended_at"
)
_OPEN = "state IN ('queued', 'in_progress')"


class SubAgentRequest(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    tenant: str
    agent: str
    room: str
    asker: str
    """The person the sub-agent works for."""
    kind: str
    params: dict[str, Any]
    priority: str
    state: str = "queued"
    progress: float = 0.0
    message: str = ""
    result: Any = None
    error: str = ""
    energy: float = 0.0
    collected: float = 0.0
    """The part of the energy that is charged."""
    ticket: str = ""
    """The approval that it waits for; empty if it waits for none."""
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None

    @property
    def is_open(self) -> bool:
        return self.state in ("queued", "in_progress")


async def find(store: Store, tenant: str, id: str) -> SubAgentRequest | None:
    rows = await store.read(f"SELECT {_COLUMNS} FROM subagent_requests WHERE tenant = ? AND id = ?", (tenant, id))
    return _without_calls(_from_row(rows[0])) if rows else None


async def newest(store: Store, tenant: str, agent: str, state: str = "", limit: int = 200) -> list[SubAgentRequest]:
    """The newest requests of an agent, newest first; in one state, if it is given."""
    rows = await store.read(
        f"SELECT {_COLUMNS} FROM subagent_requests WHERE tenant = ? AND agent = ? AND (? = '' OR state = ?)"
        " ORDER BY created_at DESC, id DESC LIMIT ?",
        (tenant, agent, state, state, limit),
    )
    return [_without_calls(_from_row(row)) for row in rows]


async def unfinished(store: Store, tenant: str, agent: str) -> list[SubAgentRequest]:
    """The requests of an agent that are open, or whose energy is not charged yet; oldest first.

    The result of an open one holds its calls so far, so that they are not made again.
    """
    rows = await store.read(
        f"SELECT {_COLUMNS} FROM subagent_requests WHERE tenant = ? AND agent = ? AND ({_OPEN} OR energy > collected)"
        " ORDER BY created_at, id",
        (tenant, agent),
    )
    return [_from_row(row) for row in rows]


def put(request: SubAgentRequest) -> Statement:
    """Store a request. Its kind, parameters and origin never change."""
    row = {
        **msgspec.structs.asdict(request),
        "params": json.dumps(request.params),
        "result": json.dumps(request.result),
    }
    names = _COLUMNS.split(", ")
    changing = ("state", "progress", "message", "result", "error", "energy", "ticket", "started_at", "ended_at")
    return Statement(
        f"INSERT INTO subagent_requests ({_COLUMNS}) VALUES ({', '.join('?' * len(names))})"
        f" ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in changing)}",
        [row[name] for name in names],
    )


def set_energy(id: str, energy: float) -> Statement:
    """Store how much energy a request has used."""
    return Statement("UPDATE subagent_requests SET energy = ? WHERE id = ?", (energy, id))


def set_collected(id: str, collected: float) -> Statement:
    """Store how much of a request's energy is charged."""
    return Statement("UPDATE subagent_requests SET collected = ? WHERE id = ?", (collected, id))


def _from_row(row: dict[str, Any]) -> SubAgentRequest:
    return SubAgentRequest(**{**row, "params": json.loads(row["params"]), "result": json.loads(row["result"])})


def _without_calls(request: SubAgentRequest) -> SubAgentRequest:
    """An open request has no result yet: the calls that it made are only for the sub-agent."""
    return msgspec.structs.replace(request, result=None) if request.is_open else request
