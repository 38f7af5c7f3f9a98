"""Clients of a real house: an agent in a room where it may do a little of everything.

The house is opened once for each file, since most tests only ask it something; a test that changes more than its own
calls opens one of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from mcp_house import EVERYTHING, McpHouse, furnish
from mcp_web import Web

from doorward.app import open_house
from doorward.config.home import Home


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def house(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[McpHouse]:
    home = Home(tmp_path_factory.mktemp("mcp") / "home")
    async with open_house(home, families=furnish(home), changes=EVERYTHING) as opened:
        made = McpHouse(opened)
        await made.move_in()
        yield made


@pytest.fixture
async def web(house: McpHouse) -> Web:
    """A program, which may ask the same again and again."""
    return await house.web(kind="service")


@pytest.fixture
def own_house(
    home: Home, opened: Callable[..., Any]
) -> Callable[..., contextlib.AbstractAsyncContextManager[McpHouse]]:
    """A house for one test, with the settings it likes and a clock that moves when told."""

    @contextlib.asynccontextmanager
    async def open_one(**more: Any) -> AsyncIterator[McpHouse]:
        async with opened(families=furnish(home), **{"changes": EVERYTHING, **more}) as driver:
            made = McpHouse(driver.house, driver.clock)
            await made.move_in()
            yield made

    return open_one
