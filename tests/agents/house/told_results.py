"""Results of commands as the sentences' tests write them."""

from __future__ import annotations

from typing import Any

from doorward.agents.house.telling import Got

AT = "2026-11-16T08:00:00.000Z"
ORDERS: list[dict[str, Any]] = [
    {"id": n, "customer": f"c{n}", "total": n * 10.5, "status": "paid", "createdAt": AT} for n in range(1, 24)
]


def got(command: str, value: Any = None, **params: Any) -> Got:
    return Got(command=command, value=value, params=params)


def listed(items: list[Any], collection: str = "orders", cursor: str | None = None, **params: Any) -> Got:
    return got("data/list", {"items": items, "cursor": cursor}, collection=collection, **params)


def grouped(items: list[Any], collection: str = "orders", more: bool = False, **params: Any) -> Got:
    return got("data/aggregate", {"items": items, "more": more}, collection=collection, **params)


def ran(command: str, stdout: str = "", stderr: str = "", code: int | None = 0, **more: Any) -> Got:
    return got(command, {"argv": ["x"], "exitCode": code, "stdout": stdout, "stderr": stderr, **more})
