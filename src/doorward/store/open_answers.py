"""SQL for the answers that models of agents with effort work on, so that an interrupted one can be charged."""

from __future__ import annotations

import json

from doorward.store.sqlite import Statement, Store

_PREFIX = "effort.answer"


def put(agent: str, key: str, room: str, model: str) -> Statement:
    name, body = f"{_PREFIX}.{agent}.{key}", json.dumps([room, model])
    return Statement("INSERT OR REPLACE INTO keepsakes (name, body) VALUES (?, ?)", (name, body))


def close(agent: str, key: str) -> Statement:
    return Statement("DELETE FROM keepsakes WHERE name = ?", (f"{_PREFIX}.{agent}.{key}",))


async def of_agent(store: Store, agent: str) -> dict[str, tuple[str, str]]:
    """The room and the model of each open answer, by its key."""
    prefix = f"{_PREFIX}.{agent}."
    rows = await store.read("SELECT name, body FROM keepsakes WHERE substr(name, 1, ?) = ?", (len(prefix), prefix))
    return {row["name"][len(prefix) :]: tuple(json.loads(row["body"])) for row in rows}
