"""MCP clients beside a command that runs for long without a server: they are served in its house until it ends."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from doorward.home import Home

if TYPE_CHECKING:
    from doorward.app import House

_LONG = 1.0
"""Seconds after which a command counts as a long one; few others meet one that is shorter, and they wait."""
_PATIENCE = 5.0
"""Seconds in which clients may finish what they began, before the command ends and one of them keeps the house."""


@contextlib.asynccontextmanager
async def hospitable(home: Home, house: House) -> AsyncIterator[None]:
    """While this lasts, and once it has lasted long, MCP clients are let in."""
    ending = asyncio.Event()
    task = asyncio.create_task(_let_in(home, house, ending))
    try:
        yield
    finally:
        ending.set()
        await asyncio.wait([task])
        task.result()


async def _let_in(home: Home, house: House, ending: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LONG):
            await ending.wait()
    if ending.is_set():
        return
    door = importlib.import_module("doorward.doors.mcp.door").McpDoor(house.gate, house.services)
    host = importlib.import_module("doorward.doors.mcp_stdio.host").Host(home, house.gate, house.services, door)
    async with host:
        await ending.wait()
        await host.leave(_PATIENCE)
