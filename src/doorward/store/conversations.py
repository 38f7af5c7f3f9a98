"""SQL for the conversations of agents with effort."""

from __future__ import annotations

import msgspec

from doorward.store.sqlite import Statement, Store


class Conversation(msgspec.Struct, kw_only=True):
    """A conversation of an agent: one room, and what the agent has to do there."""

    tenant: str
    agent: str
    room: str
    state: str
    """A `ConversationState`."""
    priority: str
    asker: str
    """The person who spoke last, for whom the agent acts."""
    unanswered_since: float | None = None
    until: float | None = None
    """When a snoozed conversation goes on."""
    wanted_level: float | None = None
    """The level of energy that it waits for."""
    note: str = ""
    """Why it waits, in a sentence."""
    created_at: float
    updated_at: float


_COLUMNS = ", ".join(Conversation.__struct_fields__)


async def of_agent(store: Store, tenant: str, agent: str) -> list[Conversation]:
    rows = await store.read(
        f"SELECT {_COLUMNS} FROM conversations WHERE tenant = ? AND agent = ? ORDER BY created_at", (tenant, agent)
    )
    return [Conversation(**row) for row in rows]


def put(one: Conversation) -> Statement:
    values = msgspec.structs.astuple(one)
    marks = ", ".join("?" * len(values))
    return Statement(f"INSERT OR REPLACE INTO conversations ({_COLUMNS}) VALUES ({marks})", values)
