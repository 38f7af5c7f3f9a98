"""Strangers who hold connections cannot shut a door: they give way to others, and authenticated clients stay."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doorward.config.settings import ServerSettings, Settings
from listening import get, house, listening, post
from waiting import PATIENCE

HELD = (
    b"",
    b"GET /health HTTP/1.1\r\nHost: loc",
    get("/health"),
    get("/api/me", "Authorization: Bearer nonsense"),
    post("/api/console/login", {"user": "owner", "password": "x"})[:-1],
    post("/mcp", {"jsonrpc": "2.0"}, "Authorization: Bearer nonsense")[:-1],
)


@pytest.mark.parametrize("seed", range(2))
async def test_strangers_who_hold_connections_do_not_shut_out_authenticated_clients(
    seed: int, opened: Callable[..., Any], tmp_path: Path
) -> None:
    chance = random.Random(seed)
    settings = Settings(server=ServerSettings(connections=16, head_seconds=PATIENCE, idle_seconds=PATIENCE))
    async with opened(changes=settings) as driver, listening(house(driver), tmp_path / "s") as here:
        ask = get("/api/me", f"Authorization: Bearer {await driver.token('ann')}")
        first = await here.connect()
        for _ in range(15):
            for _ in range(chance.randint(1, 12)):
                stranger = await here.connect()
                await stranger.send(chance.choice(HELD))
            await first.send(ask)
            assert (await first.answer()).status == 200, "an authenticated client keeps its place"
            assert (await here.ask(ask)).status == 200, "a new client gets a place"
