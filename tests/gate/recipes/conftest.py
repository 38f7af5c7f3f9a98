from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from recipe_house import House


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    house = House(tmp_path)
    yield house
    house.store.close()
