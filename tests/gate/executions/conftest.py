from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from puppets import Puppets

RULES = {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 100_000}


@pytest.fixture
def puppets() -> Puppets:
    return Puppets()


@pytest.fixture
def theatre(opened: Callable[..., Any], puppets: Puppets) -> Callable[..., Any]:
    """A house with the puppets and a room `lab`, in which agents may do anything that its recipe does not narrow."""

    @contextlib.asynccontextmanager
    async def open_with(*, changes: Any = None, **ai_commands: Any) -> AsyncIterator[Any]:
        recipe = {"recipeId": "stage", "displayName": "Stage", "strategy": {"aiCommands": RULES | ai_commands}}
        async with opened(families=[puppets.family], changes=changes) as driver:
            await driver.owner("recipe/put", id="stage", text=json.dumps(recipe))
            await driver.owner("room/create", name="lab", recipe="stage")
            yield driver

    return open_with
