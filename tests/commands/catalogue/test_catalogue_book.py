"""The catalogue follows its file, and a bad file never takes a good one's place (R6.1)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from doorward.app import House, open_house
from doorward.commands.catalogue.watched_catalogue import FILE_VARIABLE, shipped_catalogue
from doorward.config.home import Home
from doorward.config.settings import SandboxSettings, Settings
from doorward.config.settings import ShellSettings as ShellSettings
from doorward.core.errors import Unusable
from doorward.core.events import Event
from doorward.core.model import Credential, Outcome, Request
from doorward.store import kv
from waiting import PATIENCE

HELLO = {"name": "hello", "program": "echo", "prefix": ["hello"], "summary": "Say hello."}
BYE = {"name": "bye", "program": "echo", "prefix": ["bye"], "summary": "Say goodbye."}


def text(*entries: dict[str, Any]) -> str:
    return json.dumps({"commands": list(entries)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture(autouse=True)
def _no_catalogue_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FILE_VARIABLE, raising=False)


async def ask(house: House, name: str, **params: Any) -> Outcome:
    return await house.gate.handle(Request(name, Credential(owner=True), "test", params=params))


def names(house: House) -> set[str]:
    return {entry.name for entry in house.services.catalogue.entries}


class Ear:
    """Hears what is published, and waits for something to be so."""

    def __init__(self, house: House) -> None:
        self.heard: list[Event] = []
        self._news = asyncio.Event()
        house.services.events.subscribe(self._hear)

    def _hear(self, event: Event) -> None:
        if event.name.startswith("catalogue:"):
            self.heard.append(event)
            self._news.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                await self._news.wait()
                self._news.clear()


@contextlib.asynccontextmanager
async def watching(house: House) -> AsyncIterator[Ear]:
    ear = Ear(house)
    task = asyncio.create_task(house.services.catalogue.watch())
    try:
        yield ear
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_the_shipped_catalogue_is_installed_at_first_use(folder: Path) -> None:
    async with open_house(Home(folder)) as house:
        assert (folder / "commands.json").read_bytes() == shipped_catalogue()
        assert {"ls", "git_status"} <= names(house)
        assert house.services.catalogue.problem == ""


async def test_what_a_person_wrote_is_left_alone(folder: Path) -> None:
    (folder / "commands.json").write_text(text(HELLO))
    async with open_house(Home(folder)) as house:
        assert names(house) == {"hello"}
        assert (await ask(house, "hello")).result["stdout"] == "hello\n"
        assert (await ask(house, "ls")).code == "unknown_command"


async def test_an_edit_takes_effect_without_a_restart_and_a_bad_one_does_not(folder: Path) -> None:
    async with open_house(Home(folder)) as house:
        file = folder / "commands.json"
        async with watching(house) as ear:
            file.write_text(text(HELLO))
            await ear.until(lambda: names(house) == {"hello"})
            assert (await ask(house, "shell/hello")).result["stdout"] == "hello\n"
            file.write_text(text({**HELLO, "sumary": "typo"}))
            await ear.until(lambda: house.services.catalogue.problem != "")
            assert "did you mean 'summary'" in house.services.catalogue.problem
            assert (await ask(house, "hello")).status == "done"
            status = await ask(house, "system/status")
            assert any("commands.json" in problem for problem in status.result["problems"])
            assert [event.name for event in ear.heard][-1] == "catalogue:rejected"
            fresh = folder / ".commands.json.swp"
            fresh.write_text(text(BYE))
            fresh.rename(file)
            await ear.until(lambda: names(house) == {"bye"})
            await ear.until(lambda: ear.heard[-1].name == "catalogue:loaded")
            assert house.services.catalogue.problem == ""
            assert (await ask(house, "hello")).code == "unknown_command"
            file.unlink()
            await ear.until(lambda: house.services.catalogue.problem != "")
            assert names(house) == {"bye"}


async def test_the_last_good_version_outlives_a_restart(folder: Path) -> None:
    file = folder / "commands.json"
    file.write_text(text(HELLO))
    async with open_house(Home(folder)) as house:
        assert await kv.get(house.services.store, "catalogue") == f"{file}\n{text(HELLO)}"
    file.write_text("{")
    async with open_house(Home(folder)) as house:
        assert names(house) == {"hello"}
        assert "not valid JSON" in house.services.catalogue.problem


async def test_a_broken_file_without_a_last_good_version_means_none(folder: Path) -> None:
    (folder / "commands.json").write_text("{")
    async with open_house(Home(folder)) as house:
        assert names(house) == set()
        status = await ask(house, "system/status")
        assert status.result["state"] == "degraded"
        assert any("commands.json" in problem for problem in status.result["problems"])


async def test_another_file_has_no_last_good_version_of_this_one(folder: Path, tmp_path: Path) -> None:
    async with open_house(Home(folder)):
        pass
    other = tmp_path / "other.json"
    other.write_text("{")
    async with open_house(Home(folder), changes=Settings(shell=ShellSettings(catalogue=str(other)))) as house:
        assert names(house) == set()


async def test_the_environment_names_the_file_over_the_settings(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured, given = tmp_path / "configured.json", tmp_path / "given.json"
    configured.write_text(text(HELLO))
    given.write_text(text(BYE))
    changes = Settings(shell=ShellSettings(catalogue=str(configured)))
    async with open_house(Home(folder), changes=changes) as house:
        assert names(house) == {"hello"}
    monkeypatch.setenv(FILE_VARIABLE, str(given))
    async with open_house(Home(folder), changes=changes) as house:
        assert names(house) == {"bye"}
    assert not (folder / "commands.json").exists()


@pytest.mark.parametrize("path", ["a\x00b", "~no-such-user/x.json", "a\nb", "\udcff.json"])
async def test_a_path_that_cannot_be_one_stops_the_start_with_a_sentence(folder: Path, path: str) -> None:
    with pytest.raises(Unusable, match="path of the catalogue"):
        async with open_house(Home(folder), changes=Settings(shell=ShellSettings(catalogue=path))):
            raise AssertionError("it opened")


async def test_the_longest_time_there_is_leaves_the_catalogue_valid(folder: Path) -> None:
    async with open_house(Home(folder), changes=Settings(sandbox=SandboxSettings(wall_seconds=86_400))) as house:
        assert house.services.catalogue.problem == ""


async def test_a_program_that_does_not_end_is_stopped_and_shows_what_it_wrote(folder: Path) -> None:
    async with open_house(Home(folder), changes=Settings(sandbox=SandboxSettings(wall_seconds=3))) as house:
        outcome = await ask(house, "bash", command="echo so far; while true; do :; done")
        assert (outcome.status, outcome.code) == ("failed", "timed_out")
        assert outcome.result["stdout"] == "so far\n"
        assert outcome.result["exitCode"] is None


async def test_a_program_that_needs_the_network_is_told_that_there_is_none(folder: Path) -> None:
    (folder / "commands.json").write_text(text({**HELLO, "network": True}))
    async with open_house(Home(folder)) as house:
        outcome = await ask(house, "hello")
        assert "sandbox.network does not allow" in outcome.message


async def test_a_file_that_is_not_there_is_said(folder: Path, tmp_path: Path) -> None:
    changes = Settings(shell=ShellSettings(catalogue=str(tmp_path / "none.json")))
    async with open_house(Home(folder), changes=changes) as house:
        assert names(house) == set()
        missing = f"The catalogue {tmp_path / 'none.json'} is not valid: it cannot be read: No such file"
        assert house.services.catalogue.problem.startswith(missing)


async def test_a_program_that_is_not_installed_is_not_offered(folder: Path) -> None:
    missing = {"name": "frobnicate", "summary": "Frobnicate."}
    (folder / "commands.json").write_text(text(HELLO, missing, {"name": "cd", "summary": "Change directory."}))
    async with open_house(Home(folder)) as house:
        assert names(house) == {"hello"}
        assert (await ask(house, "shell/frobnicate")).code == "unknown_command"
        info = await ask(house, "shell/info")
        assert info.result["notInstalled"] == ["frobnicate", "cd"]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({**HELLO, "name": "script"}, "two commands named 'shell/script'"),
        ({**HELLO, "aliases": ["bash"]}, "already a name of 'bash'"),
        ({**HELLO, "aliases": ["read_file"]}, "already a name of 'file/read'"),
        ({**HELLO, "related": ["no/such"]}, "'no/such' does not exist"),
        ({**HELLO, "examples": [{"says": "x", "params": {"y": 1}}]}, "does not fit"),
    ],
)
async def test_what_does_not_fit_beside_the_rest_is_refused_as_a_whole(
    folder: Path, entry: dict[str, Any], reason: str
) -> None:
    file = folder / "commands.json"
    file.write_text(text(BYE))
    async with open_house(Home(folder)) as house:
        file.write_text(text(BYE, entry))
        await house.services.catalogue.load()
        assert reason in house.services.catalogue.problem
        assert names(house) == {"bye"}
        assert (await ask(house, "bye")).status == "done"


async def test_a_load_that_finds_nothing_new_says_nothing(folder: Path) -> None:
    async with open_house(Home(folder)) as house:
        ear = Ear(house)
        await house.services.catalogue.load()
        (folder / "commands.json").write_text("{")
        await house.services.catalogue.load()
        await house.services.catalogue.load()
        assert [event.name for event in ear.heard] == ["catalogue:rejected"]
