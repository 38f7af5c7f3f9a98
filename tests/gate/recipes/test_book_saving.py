"""Recipes saved, removed and installed through the book, and disks that do not take them (R2.1)."""

from __future__ import annotations

import os
import sqlite3
import stat

import pytest
from recipe_house import OPEN, SHUT, House, no_file_may_grow
from recipe_samples import text

from doorward.config.json_folder import shipped_files
from doorward.core.errors import LedgerUnavailable, NotFound, Unusable
from doorward.gate.recipes.recipe import BadRecipe


async def test_saving_checks_writes_and_loads(house: House) -> None:
    await house.book.save("a", text(OPEN, "a"))
    assert [recipe.recipe_id for recipe in house.book.recipes()] == ["a"]
    assert house.allows("a")
    file = house.folder / "a.json"
    assert file.read_bytes() == text(OPEN, "a") == house.book.text("a")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(house.folder) == ["a.json"]


async def test_a_bad_recipe_is_not_saved(house: House) -> None:
    await house.book.save("a", text(OPEN, "a"))
    with pytest.raises(BadRecipe, match=r"a\.json is not valid at strategy\.aiCommands\.enabled"):
        await house.book.save("a", text({"enabled": 1}, "a"))
    assert (house.folder / "a.json").read_bytes() == text(OPEN, "a")
    assert house.book.problems == {}


@pytest.mark.parametrize("recipe_id", ["../a", "x/a", "", ".", "/a", "a\n", "A", "a.json"])
async def test_a_recipe_is_saved_nowhere_but_in_the_folder(house: House, recipe_id: str) -> None:
    with pytest.raises(BadRecipe, match="recipeId"):
        await house.book.save(recipe_id, text(OPEN, "a"))
    with pytest.raises(NotFound):
        await house.book.remove(recipe_id)
    assert os.listdir(house.folder) == []
    assert not (house.home / "a.json").exists()


async def test_a_full_disk_leaves_the_old_file_and_no_rest(house: House) -> None:
    await house.book.save("a", text(SHUT, "a"))
    with no_file_may_grow(), pytest.raises(Unusable, match=r"a\.json cannot be written: File too large"):
        await house.book.save("a", text(OPEN, "a"))
    assert os.listdir(house.folder) == ["a.json"]
    assert (house.folder / "a.json").read_bytes() == text(SHUT, "a")
    with no_file_may_grow(), pytest.raises(Unusable, match="cannot be written"):
        await house.book.install_shipped()
    assert os.listdir(house.folder) == ["a.json"]


async def test_an_edit_takes_effect_even_when_it_cannot_be_stored_and_is_stored_later(house: House) -> None:
    file = house.put("a", OPEN)
    await house.book.load()
    file.write_bytes(text(SHUT, "a"))
    with no_file_may_grow():
        await house.book.load()
    assert house.allows("a") is False
    assert (await house.last_good())["a"].encode() == text(OPEN, "a")
    await house.book.load()
    assert (await house.last_good())["a"].encode() == text(SHUT, "a")


async def test_a_broken_store_costs_no_recipe_in_force(house: House) -> None:
    house.put("a", OPEN)
    await house.book.load()
    with sqlite3.connect(house.store.path) as db:
        db.execute("DROP TABLE recipes")
    db.close()
    with pytest.raises(LedgerUnavailable):
        await house.book.load()
    assert house.allows("a")


async def test_removing_deletes_file_and_stored_version(house: House) -> None:
    await house.book.save("a", text(OPEN, "a"))
    await house.book.remove("a")
    assert house.book.policy("a") is None
    assert os.listdir(house.folder) == []
    assert await house.last_good() == {}
    with pytest.raises(NotFound, match=r"no recipe file a\.json"):
        await house.book.remove("a")


async def test_installing_writes_the_shipped_recipes_once_and_overwrites_nothing(house: House) -> None:
    mine = house.put("admin", SHUT)
    assert set(await house.book.install_shipped()) == set(shipped_files("doorward.gate.recipes")) - {"admin"}
    assert await house.book.install_shipped() == []
    assert mine.read_bytes() == text(SHUT, "admin")
    await house.book.load()
    assert len(house.book.recipes()) == 9
    assert house.book.problems == {}
    assert {stat.S_IMODE(file.stat().st_mode) for file in house.folder.iterdir() if file != mine} == {0o600}


async def test_installing_makes_the_folder(house: House) -> None:
    house.folder.rmdir()
    assert len(await house.book.install_shipped()) == 9
    assert stat.S_IMODE(house.folder.stat().st_mode) == 0o700
