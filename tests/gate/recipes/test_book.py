"""The recipes in force are those of the folder, and a bad file never costs a good version (R2.1)."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from recipe_house import OPEN, SHUT, House
from recipe_samples import text

from doorward.core.events import RecipeLoaded, RecipeRejected


async def test_every_file_of_the_folder_is_loaded(house: House) -> None:
    house.put("b", OPEN)
    house.put("a", SHUT)
    await house.book.load()
    assert [recipe.recipe_id for recipe in house.book.recipes()] == ["a", "b"]
    assert (house.allows("a"), house.allows("b"), house.allows("c")) == (False, True, None)
    assert sorted(house.heard()) == [("recipe:loaded", "a"), ("recipe:loaded", "b")]
    assert house.book.problems == {}


async def test_only_what_changed_is_announced_and_replaced(house: House) -> None:
    house.put("a", SHUT)
    house.put("b", SHUT)
    await house.book.load()
    house.heard()
    untouched = house.book.policy("a")
    house.put("b", OPEN)
    await house.book.load()
    await house.book.load()
    assert house.heard() == [("recipe:loaded", "b")]
    assert house.book.policy("a") is untouched
    assert house.allows("b")


async def test_a_bad_edit_keeps_the_last_good_version(house: House, caplog: pytest.LogCaptureFixture) -> None:
    file = house.put("a", OPEN)
    await house.book.load()
    house.heard()
    file.write_bytes(text({"enabeld": False}, "a"))
    with caplog.at_level(logging.WARNING):
        await house.book.load()
        await house.book.load()
    assert house.allows("a")
    assert house.book.text("a") == text(OPEN, "a")
    assert "did you mean 'enabled'?" in house.book.problems["a.json"]
    assert house.heard() == [("recipe:rejected", "a")]
    assert [record.message for record in caplog.records] == [
        f"{house.book.problems['a.json']} The last good version stays in force."
    ]


async def test_a_rejection_carries_the_reason(house: House) -> None:
    house.write("a.json", b"{")
    await house.book.load()
    (event,) = house.events
    assert isinstance(event, RecipeRejected)
    assert event.reason == house.book.problems["a.json"]
    assert "not valid JSON at line 1, column 2" in event.reason


async def test_a_repaired_file_clears_the_problem(house: House) -> None:
    file = house.put("a", OPEN)
    await house.book.load()
    good = file.read_bytes()
    file.write_bytes(b"")
    await house.book.load()
    house.heard()
    file.write_bytes(good)
    await house.book.load()
    assert house.book.problems == {}
    assert house.heard() == [("recipe:loaded", "a")]


@pytest.mark.parametrize("length", [0, 1, 40, len(text(SHUT, "a")) - 1])
async def test_an_empty_or_half_written_file_does_not_kill_the_last_good_one(house: House, length: int) -> None:
    file = house.put("a", OPEN)
    await house.book.load()
    file.write_bytes(text(SHUT, "a")[:length])
    await house.book.load()
    assert house.allows("a")
    assert house.new_book().policy("a") is None
    await house.book.load()
    assert house.allows("a")


async def test_after_a_restart_the_last_good_version_comes_from_the_store(house: House) -> None:
    file = house.put("a", OPEN)
    await house.book.load()
    file.write_bytes(b"not JSON")
    house.new_book()
    await house.book.load()
    assert house.allows("a")
    assert "a.json" in house.book.problems
    assert (await house.last_good())["a"].encode() == text(OPEN, "a")


async def test_a_bad_file_without_a_good_version_puts_nothing_in_force(house: House) -> None:
    house.write("a.json", b"not JSON")
    await house.book.load()
    assert house.book.policy("a") is None
    assert house.book.text("a") is None


async def test_a_stored_version_that_is_not_valid_any_more_is_not_used(house: House) -> None:
    house.put("a", OPEN)
    await house.book.load()
    with sqlite3.connect(house.store.path) as db:
        db.execute("UPDATE recipes SET body = '{}'")
    db.close()
    house.write("a.json", b"not JSON")
    house.new_book()
    await house.book.load()
    assert house.book.policy("a") is None


async def test_a_vanished_file_removes_the_recipe_and_its_stored_version(house: House) -> None:
    file = house.put("a", OPEN)
    house.put("b", OPEN)
    await house.book.load()
    file.unlink()
    await house.book.load()
    assert house.book.policy("a") is None
    assert set(await house.last_good()) == {"b"}


async def test_a_file_that_vanished_while_nobody_looked_is_removed_too(house: House) -> None:
    file = house.put("a", OPEN)
    await house.book.load()
    file.unlink()
    house.new_book()
    await house.book.load()
    assert house.book.policy("a") is None
    assert await house.last_good() == {}


async def test_a_vanished_problem_is_forgotten(house: House) -> None:
    file = house.write("a.json", b"{")
    await house.book.load()
    file.unlink()
    await house.book.load()
    assert house.book.problems == {}


async def test_a_missing_folder_drops_nothing(house: House) -> None:
    house.put("a", OPEN)
    await house.book.load()
    house.folder.rename(house.home / "elsewhere")
    await house.book.load()
    assert house.allows("a")
    assert "No such file or directory" in house.book.problems["recipes"]
    house.new_book()
    await house.book.load()
    assert house.allows("a")
    assert set(await house.last_good()) == {"a"}


def make_directory(file: Path) -> None:
    file.mkdir()


def make_pipe(file: Path) -> None:
    os.mkfifo(file)


def make_dangling_link(file: Path) -> None:
    file.symlink_to("nowhere")


def make_link_loop(file: Path) -> None:
    file.symlink_to(file.name)


def make_unreadable(file: Path) -> None:
    # Its first page is never mapped, so that reading it fails even for root.
    file.symlink_to("/proc/self/mem")


def make_huge(file: Path) -> None:
    file.write_bytes(b" " * 20_000_000)


def make_of(body: bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(body)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (make_directory, "not a regular file"),
        (make_pipe, "not a regular file"),
        (make_dangling_link, "cannot be read: No such file"),
        (make_link_loop, "cannot be read: Too many levels"),
        (make_unreadable, "cannot be read: Input/output error"),
        (make_huge, "too large; valid: at most 1000000 bytes; it has 20000000"),
        (make_of(b"\xff"), "not UTF-8"),
        (make_of(b"\x00"), "not valid JSON"),
        (make_of(b"[" * 1000), "nests too deeply"),
        (make_of(b'{"a": NaN}'), "NaN"),
        (make_of(b'{"a": 1, "a": 2}'), "twice"),
    ],
)
async def test_whatever_lies_in_the_folder_ends_as_a_clear_problem(
    house: House, make: Callable[[Path], object], words: str
) -> None:
    house.put("b", OPEN)
    make(house.folder / "x.json")
    await house.book.load()
    assert house.book.problems["x.json"].startswith("The recipe x.json is not valid: ")
    assert words in house.book.problems["x.json"]
    assert house.book.policy("x") is None
    assert house.allows("b")


async def test_a_file_name_that_is_no_text_is_a_problem_that_can_be_printed(house: House) -> None:
    house.write(os.fsdecode(b"a\xff\x1b.json"), text(OPEN, "a"))
    await house.book.load()
    (name,) = house.book.problems
    assert name == r"a\udcff\x1b.json"
    assert house.book.problems[name].isprintable()
    assert house.book.recipes() == []


async def test_hidden_files_and_other_files_are_no_recipes(house: House) -> None:
    (house.folder / ".#a.json").symlink_to("user@host.1234")
    house.write(".b.json", b"{")
    house.write("a.json~", b"{")
    house.write("notes.txt", b"{")
    await house.book.load()
    assert house.book.problems == {}


async def test_many_loads_at_once_end_in_one_truth(house: House) -> None:
    house.put("a", OPEN)
    await asyncio.gather(*(house.book.load() for _ in range(20)))
    assert house.heard() == [("recipe:loaded", "a")]


async def test_events_name_the_time_and_belong_to_every_tenant(house: House) -> None:
    house.put("a", OPEN)
    await house.book.load()
    (event,) = house.events
    assert isinstance(event, RecipeLoaded)
    assert event.tenant == ""
    assert event.at > 1_600_000_000
