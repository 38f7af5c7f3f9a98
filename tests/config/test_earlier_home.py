"""A home folder made by the version before the packages were regrouped still opens, with everything in it."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from doorward.app import open_house
from doorward.config.home import Home
from doorward.config.settings import load_settings
from doorward.core.model import Credential, Request
from doorward.store.ledger.checkpoints import LedgerPaths
from doorward.store.ledger.verification import verify

_EARLIER = Path(__file__).with_name("earlier_home.tar.gz")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    with tarfile.open(_EARLIER) as archive:
        archive.extractall(tmp_path / "home", filter="data")
    return Home(tmp_path / "home")


async def _run(house, command: str, room: str = "", **params):
    return await house.gate.handle(Request(command, Credential(owner=True), "test", room, params))


def test_its_ledger_verifies_before_anything_is_opened(home: Home) -> None:
    finding = verify(LedgerPaths.of(home.path), home.load_key())
    assert (finding.broken, finding.records) == ("", 9)


async def test_it_opens_with_its_settings_rooms_files_and_undo(home: Home) -> None:
    assert load_settings(home.settings).limits.per_minute == 77
    async with open_house(home) as house:
        rooms = await _run(house, "room/list")
        content = await _run(house, "file/read", "lab", path="a.txt")
        written = await _run(house, "data/list", collection="audit", filter={"command": "file/write"})
        undone = await _run(house, "undo", "lab", execution=written.result["items"][0]["call"])
        said = await _run(house, "room/messages", name="lab")
    assert {room["room"]: room["recipe"] for room in rooms.result["items"]}["lab"] == "admin"
    assert content.result["content"] == "hello"
    assert undone.status == "done"
    assert "hello there" in [message["text"] for message in said.result["items"]]
    assert verify(LedgerPaths.of(home.path), home.load_key()).broken == ""
