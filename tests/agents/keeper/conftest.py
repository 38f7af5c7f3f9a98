"""One house for all tests of a file: opening one costs more than most of them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from keeper_house import Kept, kept


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def house_of_the_file(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kept]:
    async with kept(tmp_path_factory.mktemp("keeper") / "home") as house:
        yield house


@pytest.fixture
def keeper(house_of_the_file: Kept) -> Kept:
    """The keeper with the limits it came with, and nothing to say."""
    house_of_the_file.limits()
    house_of_the_file.says()
    house_of_the_file.think({})
    return house_of_the_file
