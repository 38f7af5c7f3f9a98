from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from evil_ledger import RECIPE, Ledger, ask, live
from raw_server import Server

from doorward.app import open_house
from doorward.config.home import Home


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A house with about 200 records and four checkpoints."""
    folder = tmp_path_factory.mktemp("made") / "home"

    async def make() -> None:
        for part in range(4):
            async with open_house(Home(folder)) as house:
                if part == 0:
                    await ask(house, "recipe/put", id="lax", text=json.dumps(RECIPE))
                    await ask(house, "room/create", name="lax", recipe="lax")
                await live(house, part * 9, part * 9 + 9)
                await house.ledger_maintainer.checkpoint()

    asyncio.run(make())
    return folder


@pytest.fixture(scope="session")
def rotated(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with two segments moved out."""
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("rotated") / "home"))

    async def rotate() -> None:
        async with open_house(Home(folder)) as house:
            await house.ledger_maintainer.rotate(150)
            await live(house, 100, 104)
            await house.ledger_maintainer.rotate(80)

    asyncio.run(rotate())
    return folder


@pytest.fixture
def ledger(made: Path, tmp_path: Path) -> Ledger:
    return Ledger(Path(shutil.copytree(made, tmp_path / "home")))


@pytest.fixture
def segmented(rotated: Path, tmp_path: Path) -> Ledger:
    return Ledger(Path(shutil.copytree(rotated, tmp_path / "home")))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("bad-input") / "home")
    try:
        recipe = {"command": "recipe/put", "params": {"id": "lax", "text": json.dumps(RECIPE)}}
        assert server.post(recipe)[0] == 200
        assert server.post({"command": "room/create", "params": {"name": "lax", "recipe": "lax"}})[0] == 200
        yield server
        assert server.lives()
    finally:
        server.stop()
    verified = server.run("audit", "verify")
    assert verified.returncode == 0, verified.stderr
    logged = b"".join(file.read_bytes() for file in (server.home / "logs").iterdir())
    assert b"Traceback" not in logged, logged
