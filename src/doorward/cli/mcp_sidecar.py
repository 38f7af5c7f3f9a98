"""Serves MCP clients next to a long-running command when no server is running."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from doorward.config.home import Home

if TYPE_CHECKING:
    from doorward.app import House

_START_DELAY = 1.0
"""Seconds after which a command counts as long-running. During a shorter one, clients simply wait."""
_DRAIN_SECONDS = 5.0
"""Seconds for clients to finish their calls before the command ends and one of them takes over the home folder."""


@contextlib.asynccontextmanager
async def mcp_sidecar(home: Home, house: House) -> AsyncIterator[None]:
    """Accept MCP clients once the block has run for a while."""
    ending = asyncio.Event()
    task = asyncio.create_task(_serve_clients(home, house, ending))
    try:
        yield
    finally:
        ending.set()
        await asyncio.wait([task])
        task.result()


async def _serve_clients(home: Home, house: House, ending: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_START_DELAY):
            await ending.wait()
    if ending.is_set():
        return
    from doorward.doors.mcp.door import McpDoor  # noqa: PLC0415 - slow to import, and seldom needed
    from doorward.doors.mcp.stdio.host import StdioHost  # noqa: PLC0415

    host = StdioHost(home, house.gate, house.services, McpDoor(house.gate, house.services))
    async with host:
        await ending.wait()
        await host.shut_down(_DRAIN_SECONDS)
