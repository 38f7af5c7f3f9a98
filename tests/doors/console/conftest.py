"""A house of this test's own, with its console."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from console_door import Console


@pytest.fixture
def console_of() -> Callable[..., Any]:
    @asynccontextmanager
    async def made(driver: Any) -> AsyncIterator[Console]:
        console = Console(driver)
        try:
            yield console
        finally:
            await console.close()

    return made


@pytest.fixture
async def console(driver: Any, console_of: Callable[..., Any]) -> AsyncIterator[Console]:
    async with console_of(driver) as one:
        yield one
