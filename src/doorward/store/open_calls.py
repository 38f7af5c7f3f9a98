"""SQL of the calls of personas that are not over: those that run, and those that wait for a person."""

from __future__ import annotations

import msgspec

from doorward.store.sqlite import Statement, Store


class OpenCall(msgspec.Struct, frozen=True, kw_only=True):
    card: str
    """The message that shows it."""
    tenant: str
    room: str
    persona: str
    turn: str
    rounds: int
    """How many rounds of its turn are used up."""
    approval: str = ""
    """What it waits for; empty while it runs."""
    at: float
    asker: str = ""
    """The person for whom it is made."""


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
