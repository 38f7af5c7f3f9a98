"""People see what personas can think with, and whether it answers; nobody sees a key."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from conforming import conforms
from doorward.config.settings import ModelSettings, ProviderSettings, Settings

pytestmark = pytest.mark.anyio

KEY = "sk-key-that-nobody-may-see-0123456789"


async def test_people_see_where_models_are_asked_and_that_a_key_is_there(
    opened: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_API_KEY", KEY)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    lab = ProviderSettings(base_url="https://lab.example/v1", model="small")
    async with opened(
        changes=Settings(models=ModelSettings(providers={"lab": lab, "attic": ProviderSettings()}))
    ) as driver:
        listed = await driver.owner("model/list")
        conforms(driver, "model/list", listed)
        house, given, missing = listed.result["items"]
        assert (house["provider"], house["key"], house["problem"]) == ("house", "not needed", "")
        assert (given["provider"], given["model"], given["key"]) == ("lab", "small", "there")
        assert (missing["provider"], missing["key"]) == ("attic", "missing")
        assert "ATTIC_API_KEY" in missing["problem"]
        assert KEY not in json.dumps([listed.result, listed.text, await driver.ledger()])


async def test_a_model_is_tried_with_one_sentence(driver: Any) -> None:
    tried = await driver.owner("model/test", model="house")
    conforms(driver, "model/test", tried)
    assert tried.result["answers"]
    assert tried.result["said"]
    unknown = await driver.owner("model/test", model="nobody:m\u202e")
    assert (unknown.result["answers"], unknown.result["fault"]) == (False, "unknown")
    assert "\u202e" not in unknown.result["said"]


async def test_it_is_for_people_of_the_house(driver: Any) -> None:
    for command, params in (("model/list", {}), ("model/test", {"model": "house"})):
        outcome = await driver.ask(command, params=params)
        assert outcome.status == "refused"
