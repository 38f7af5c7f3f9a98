from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from scratch import Scratch, recipe


@pytest.fixture
def scratch() -> Scratch:
    return Scratch()


@pytest.fixture
def house(opened: Callable[..., Any], scratch: Scratch) -> Callable[..., Any]:
    """A house with the scratch commands and a room `lab` under a recipe of the test's making."""

    @contextlib.asynccontextmanager
    async def open_with(*, changes: Any = None, **ai_commands: Any) -> AsyncIterator[Any]:
        async with opened(families=[scratch.family], changes=changes) as driver:
            await driver.owner("recipe/put", id="scratch", text=json.dumps(recipe(**ai_commands)))
            await driver.owner("room/create", name="lab", recipe="scratch")
            yield driver

    return open_with
