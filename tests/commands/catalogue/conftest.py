"""A house that all tests of a file share, since each opens a sandbox of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from catalogue_house import Shell, SteadyClock

from doorward.app import open_house
from doorward.config.home import Home


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def shared_shell(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shell]:
    folder: Path = tmp_path_factory.mktemp("shell")
    clock = SteadyClock()
    async with open_house(Home(folder / "home"), clock=clock) as house:
        (folder / "home" / "workspace").mkdir(exist_ok=True)
        shell = Shell(house, clock)
        await shell.with_repository(folder / "repository")
        yield shell


@pytest.fixture
async def shell(shared_shell: Shell) -> Shell:
    await shared_shell.fresh()
    return shared_shell
