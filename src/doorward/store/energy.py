"""SQL for energy pools."""

from __future__ import annotations

from typing import Any

from doorward.store.sqlite import Statement, Store


async def all_pools(store: Store) -> list[dict[str, Any]]:
    return await store.read("SELECT tenant, caller, level, at FROM energy")


def put_pool(tenant: str, caller: str, level: float, at: float) -> Statement:
    return Statement(
        "INSERT INTO energy (tenant, caller, level, at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (tenant, caller) DO UPDATE SET level = excluded.level, at = excluded.at",
        (tenant, caller, level, at),
    )
