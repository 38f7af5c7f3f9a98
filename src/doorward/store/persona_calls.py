"""SQL for the open calls of personas: running, or waiting for approval."""

from __future__ import annotations

import msgspec

from doorward.store.sqlite import Statement, Store


class OpenCall(msgspec.Struct, frozen=True, kw_only=True):
    card: str
    """The message that shows this call."""
    tenant: str
    room: str
    persona: str
    turn: str
    rounds: int
    """The number of used rounds of its turn."""
    approval: str = ""
    """The approval it waits for; empty while it runs."""
    at: float
    asker: str = ""
    """The person the call is made for."""


async def all_open(store: Store) -> list[OpenCall]:
    rows = await store.read(
        "SELECT card, tenant, room, persona, turn, rounds, approval, at, asker FROM persona_calls ORDER BY card"
    )
    return [OpenCall(**row) for row in rows]


def put(call: OpenCall) -> Statement:
    return Statement(
        "INSERT INTO persona_calls (card, tenant, room, persona, turn, rounds, approval, at, asker)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (card) DO UPDATE SET approval = excluded.approval",
        (call.card, call.tenant, call.room, call.persona, call.turn, call.rounds, call.approval, call.at, call.asker),
    )


def close(card: str) -> Statement:
    return Statement("DELETE FROM persona_calls WHERE card = ?", (card,))
