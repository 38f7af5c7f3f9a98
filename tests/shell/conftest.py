"""A house that all tests of a file share, with a shell to type lines into."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from typed_lines import Typing

from doorward.app import open_house
from doorward.config.home import Home
from doorward.config.settings import LimitSettings, Settings


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def typing(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Typing]:
    settings = Settings(limits=LimitSettings(per_minute=1_000_000))
    async with open_house(Home(tmp_path_factory.mktemp("typing") / "home"), changes=settings) as house:
        yield Typing(house)
