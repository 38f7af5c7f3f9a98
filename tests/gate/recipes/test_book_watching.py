"""Edits take effect without a restart (R2.1)."""

from __future__ import annotations

import asyncio
import logging

import pytest
from recipe_house import OPEN, SHUT, House, no_file_may_grow
from recipe_samples import text

from waiting import PATIENCE


async def test_edits_take_effect_while_watching(house: House) -> None:
    """R2.1"""
    file = house.put("a", OPEN)
    async with house.watching():
        await house.until(lambda: house.allows("a") is True)
        file.write_bytes(text(SHUT, "a"))
        await house.until(lambda: house.allows("a") is False)
        file.write_bytes(b'{"recipeId": "a"')
        await house.until(lambda: "a.json" in house.book.problems)
        assert house.allows("a") is False
        fresh = house.write(".a.json.swp", text(OPEN, "a"))
        fresh.rename(file)
        await house.until(lambda: house.allows("a") is True)
        assert house.book.problems == {}
        file.unlink()
        house.put("b", OPEN)
        await house.until(lambda: house.allows("b") is True)
        assert house.allows("a") is None


async def test_watching_survives_that_the_folder_is_replaced(house: House) -> None:
    house.put("a", OPEN)
    async with house.watching():
        await house.until(lambda: house.allows("a") is True)
        house.folder.rename(house.home / "old")
        await house.until(lambda: "recipes" in house.book.problems)
        assert house.allows("a")
        house.folder.mkdir()
        house.put("a", SHUT)
        await house.until(lambda: house.allows("a") is False)
        house.put("b", OPEN)
        await house.until(lambda: house.allows("b") is True)


async def test_watching_makes_up_for_what_could_not_be_stored(house: House, caplog: pytest.LogCaptureFixture) -> None:
    house.put("a", OPEN)
    bell = logging.Handler()
    bell.emit = lambda record: house.news.set()  # type: ignore[method-assign]
    logging.getLogger("doorward.gate.recipes.book").addHandler(bell)
    async with house.watching():
        with no_file_may_grow():
            await house.until(lambda: "could not be stored as last good versions" in caplog.text)
        assert await house.last_good() == {}
        async with asyncio.timeout(PATIENCE):
            while "a" not in await house.last_good():
                continue
    logging.getLogger("doorward.gate.recipes.book").removeHandler(bell)
