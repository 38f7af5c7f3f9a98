"""Limits of programs: those of the settings file apply to the next program, those of an entry inside drafts too."""

from __future__ import annotations

import asyncio
import json

import pytest

from doorward.app import open_house
from doorward.config.home import Home
from doorward.core.model import Credential, Outcome, Request
from waiting import until

pytestmark = pytest.mark.anyio

ENTRY = {
    "name": "small",
    "summary": "Run a script with little memory.",
    "program": "python3",
    "prefix": ["-c"],
    "profile": "build",
    "memoryBytes": 60_000_000,
    "effects": ["write"],
    "arguments": [{"name": "script", "type": "text", "required": True}],
}
WRITE = "head -c 5000 /dev/zero > large"


@pytest.fixture
async def house(tmp_path):
    home = Home(tmp_path / "home")
    home.path.mkdir()
    (home.path / "commands.json").write_text(json.dumps([ENTRY]))
    async with open_house(home) as house:
        (tmp_path / "project").mkdir()
        made = await ask(house, "room/create", "", name="app", recipe="coding", workspace=str(tmp_path / "project"))
        assert made.status == "done", made
        yield house


async def ask(house, command: str, by: str = "claude", /, **params) -> Outcome:
    room = "" if command == "room/create" else "app"
    return await house.gate.handle(
        Request(command, Credential(owner=True, speak_as=by), "test", room=room, params=params)
    )


async def test_changed_limits_apply_to_the_next_program_and_an_invalid_file_changes_nothing(house, caplog):
    build = lambda: house.services.settings.sandbox.build  # noqa: E731
    watching = asyncio.create_task(house.limits.watch())
    try:
        for by in ("claude", ""):
            assert (await ask(house, "bash", by, command=WRITE)).status == "done"
        house.home.settings.write_text("[sandbox]\ndraft_bytes = 100000\n[sandbox.build]\nfile_bytes = 1000\n")
        await until(lambda: build().file_bytes == 1000)
        for by in ("claude", ""):
            failed = await ask(house, "bash", by, command=WRITE)
            assert "larger than 1,000 bytes (setting sandbox.build.file_bytes)" in failed.message, by
        assert (await ask(house, "draft/status")).result["mostBytes"] == 100_000
        house.home.settings.write_text("[sandbox.build]\nfile_bytes = -1\n")
        await until(lambda: "stay as they were" in caplog.text)
        assert build().file_bytes == 1000
        house.home.settings.unlink()
        await until(lambda: build().file_bytes > 1000)
        assert (await ask(house, "bash", command=WRITE)).status == "done"
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_the_memory_limit_of_an_entry_holds_in_a_draft(house):
    assert (await ask(house, "bash", command="/usr/bin/env python3 -c 'bytearray(100_000_000)'")).status == "done"
    failed = await ask(house, "shell/small", script="import time; kept = bytearray(100_000_000); time.sleep(60)")
    assert "60,000,000 bytes of memory (memoryBytes of its catalogue entry)" in failed.message
