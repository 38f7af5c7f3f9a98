"""The servers in force follow their file, and a bad file never takes a good one's place (R11.1)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doorward.core.clock import Clock
from doorward.core.errors import Conflict, Unusable
from doorward.core.events import Bus, Event
from doorward.store import kv
from doorward.store.sqlite import Store
from doorward.upstream.config import ServersConfig
from doorward.upstream.server_file import ServerFile
from waiting import PATIENCE

ONE, TWO = {"id": "one", "command": "x"}, {"id": "two", "command": "y"}


def text(*entries: dict[str, Any]) -> str:
    return json.dumps({"servers": list(entries)})


class Shelf:
    """A home folder with a database, from which books are opened as processes would."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.file = home / "mcp-servers.json"
        self.store = Store(home / "house.db", b"k" * 32)
        self.events = Bus()
        self.heard: list[Event] = []
        self.put: list[ServersConfig] = []
        self.refuses = ""
        self.news = asyncio.Event()
        self.events.subscribe(self._hear)

    def _hear(self, event: Event) -> None:
        self.heard.append(event)
        self.news.set()

    def _put(self, servers: ServersConfig) -> None:
        if self.refuses:
            raise TypeError(self.refuses)
        self.put.append(servers)

    async def book(self, configured: str = "", **environment: str) -> ServerFile:
        book = ServerFile(self.home, configured, self.store, self.events, Clock(), self._put, environment)
        await book.load()
        return book

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                await self.news.wait()
                self.news.clear()


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    home = tmp_path / "home"
    home.mkdir()
    shelf = Shelf(home)
    yield shelf
    shelf.store.close()


@contextlib.asynccontextmanager
async def watched(book: ServerFile) -> AsyncIterator[None]:
    task = asyncio.create_task(book.watch())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def ids(book: ServerFile) -> list[str]:
    return [one.id for one in book.servers.servers]


async def test_no_file_is_no_server_and_no_problem(shelf: Shelf) -> None:
    book = await shelf.book()
    assert (ids(book), book.problem, shelf.put) == ([], "", [ServersConfig()])


async def test_an_edit_takes_effect_and_a_typo_keeps_the_last_good_one(shelf: Shelf) -> None:
    book = await shelf.book()
    async with watched(book):
        shelf.file.write_text(text(ONE))
        await shelf.until(lambda: ids(book) == ["one"])
        shelf.file.write_text(text({**ONE, "comand": "x"}, TWO))
        await shelf.until(lambda: shelf.heard[-1].name == "servers:rejected")
        assert (ids(book), len(shelf.put)) == (["one"], 2)
        assert "servers[0].comand" in book.problem
        assert "did you mean 'command'" in book.problem
        shelf.file.write_text(text(ONE, TWO))
        await shelf.until(lambda: shelf.heard[-1].name == "servers:loaded")
        assert (ids(book), book.problem) == (["one", "two"], "")
        shelf.file.unlink()
        await shelf.until(lambda: ids(book) == [])


async def test_the_last_good_version_outlives_a_restart(shelf: Shelf) -> None:
    shelf.file.write_text(text(ONE))
    await shelf.book()
    shelf.file.write_text("{")
    book = await shelf.book()
    assert ids(book) == ["one"]
    assert "not valid JSON" in book.problem
    assert book.consequence == "Its last good version is in force."
    assert (await shelf.book(MCP_CONFIG_PATH=str(shelf.file))).servers.servers[0].id == "one"


async def test_the_last_good_version_is_stored_with_its_path(shelf: Shelf) -> None:
    book = await shelf.book()
    assert (await kv.get(shelf.store, "servers"), shelf.heard) == (None, [])
    await book.save(None, text(ONE).encode())
    assert await kv.get(shelf.store, "servers") == f"{shelf.file}\n{text(ONE)}"
    await book.save(text(ONE).encode(), None)
    assert await kv.get(shelf.store, "servers") == f"{shelf.file}\n"
    assert [event.name for event in shelf.heard] == ["servers:loaded"] * 2
    shelf.file.write_text("{")
    await book.load()
    assert book.consequence == "There is no earlier version, so no server in it is connected."
    shelf.file.unlink()
    await book.load()
    assert [event.name for event in shelf.heard[2:]] == ["servers:rejected", "servers:loaded"]


async def test_the_last_good_version_of_another_file_is_not_this_ones(shelf: Shelf) -> None:
    shelf.file.write_text(text(ONE))
    await shelf.book()
    other = shelf.home / "other.json"
    other.write_text("{")
    book = await shelf.book(MCP_CONFIG_PATH=str(other))
    assert (ids(book), bool(book.problem)) == ([], True)
    assert book.consequence == "There is no earlier version, so no server in it is connected."


async def test_a_folder_that_is_gone_is_no_order_to_drop_every_server(shelf: Shelf, tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    (place / "servers.json").write_text(text(ONE))
    book = await shelf.book(str(place / "servers.json"))
    place.rename(tmp_path / "elsewhere")
    await book.load()
    assert ids(book) == ["one"]
    assert "No such file" in book.problem


async def test_what_does_not_fit_together_keeps_the_last_good_one(shelf: Shelf) -> None:
    shelf.file.write_text(text(ONE))
    book = await shelf.book()
    shelf.refuses = "two names are one"
    shelf.file.write_text(text(ONE, TWO))
    await book.load()
    assert (ids(book), "two names are one" in book.problem) == (["one"], True)


async def test_the_place_comes_from_the_environment_then_from_the_settings(shelf: Shelf, tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    assert (await shelf.book(str(second))).file == second
    assert (await shelf.book(str(second), MCP_CONFIG_PATH=str(first))).file == first
    assert (await shelf.book("sub/mine.json")).file == shelf.home / "sub" / "mine.json"
    assert (await shelf.book(MCP_CONFIG_PATH="mine.json")).file == Path.cwd() / "mine.json"
    with pytest.raises(Unusable, match="not plain text"):
        await shelf.book(MCP_CONFIG_PATH="a\x1bb")


@pytest.mark.parametrize("name", ["MCP_TOOL_APPROVAL", "MCP_AUTO_DISCOVERY"])
async def test_a_switch_that_says_neither_stops_the_start(shelf: Shelf, name: str) -> None:
    with pytest.raises(Unusable, match=f"{name} is not valid; valid: true, false, 1 or 0; given 'maybe'"):
        await shelf.book(**{name: "maybe"})


async def test_switches_hold_also_where_there_is_no_file(shelf: Shelf) -> None:
    assert (await shelf.book(MCP_TOOL_APPROVAL="0")).servers.approval_required is False


async def test_what_is_saved_is_for_this_account_only_and_in_force(shelf: Shelf) -> None:
    shelf.file.write_text(text(ONE))
    os.chmod(shelf.file, 0o644)
    book = await shelf.book()
    await book.save(await book.text(), text(TWO).encode())
    assert (ids(book), shelf.file.stat().st_mode & 0o777) == (["two"], 0o600)


async def test_what_somebody_else_changed_meanwhile_is_not_overwritten(shelf: Shelf) -> None:
    shelf.file.write_text(text(ONE))
    book = await shelf.book()
    before = await book.text()
    shelf.file.write_text(text(ONE, TWO))
    with pytest.raises(Conflict, match="has changed in the meantime"):
        await book.save(before, text().encode())
    assert shelf.file.read_text() == text(ONE, TWO)


async def test_a_symlink_stays_one_when_its_file_is_changed(shelf: Shelf, tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text(text(ONE))
    shelf.file.symlink_to(real)
    book = await shelf.book()
    await book.save(await book.text(), text(TWO).encode())
    assert shelf.file.is_symlink()
    assert real.read_text() == text(TWO)


async def test_a_file_that_was_put_elsewhere_is_called_by_its_whole_path(shelf: Shelf, tmp_path: Path) -> None:
    elsewhere = tmp_path / "gone" / "x.json"
    book = await shelf.book(MCP_CONFIG_PATH=str(elsewhere))
    assert book.problem.startswith(f"The server file {elsewhere} is not valid: it cannot be read: ")
