"""A house of this test's own, with its REST door."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from rest_door import Rest


@pytest.fixture
def rest_of() -> Callable[..., Any]:
    """The REST door of a driver's house."""

    @contextlib.asynccontextmanager
    async def made(driver: Any) -> AsyncIterator[Rest]:
        async with contextlib.AsyncExitStack() as closing:
            yield Rest(driver, closing)

    return made


@pytest.fixture
async def rest(driver: Any, rest_of: Callable[..., Any]) -> AsyncIterator[Rest]:
    async with rest_of(driver) as one:
        yield one
