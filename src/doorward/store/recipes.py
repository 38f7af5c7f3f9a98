"""The last good version of every recipe, for the time when its file is broken."""

from __future__ import annotations

import msgspec

from doorward.store.sqlite import Statement, Store


class LastGood(msgspec.Struct, frozen=True):
    id: str
    body: str
    digest: str
    loaded_at: float


async def all_last_good(store: Store) -> dict[str, LastGood]:
    rows = await store.read("SELECT id, body, digest, loaded_at FROM recipes")
    return {row["id"]: msgspec.convert(row, LastGood) for row in rows}


def keep(recipe: LastGood) -> Statement:
    return Statement(
        "INSERT INTO recipes (id, body, digest, loaded_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET body = excluded.body, digest = excluded.digest,"
        " loaded_at = excluded.loaded_at",
        msgspec.structs.astuple(recipe),
    )


def forget(recipe_id: str) -> Statement:
    return Statement("DELETE FROM recipes WHERE id = ?", (recipe_id,))
