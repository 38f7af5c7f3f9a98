"""Tiers: names for what a model costs, which the settings give a meaning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doorward.agents.models.model import ModelFailed
from doorward.agents.models.registry import ModelRegistry
from doorward.config import settings
from doorward.config.settings import KeeperSettings, ProviderSettings, Settings
from doorward.config.settings import ModelSettings as Limits
from doorward.core.errors import Unusable

pytestmark = pytest.mark.anyio
LAN = {"lan": ProviderSettings(base_url="http://127.0.0.1:9/v1", needs_key=False)}
TIERS = {"cheap": "house", "normal": "lan:small", "dear": "normal", "usual": "default"}


def test_a_tier_is_the_model_that_the_settings_name_for_it() -> None:
    models = ModelRegistry(Limits(default="cheap", tiers=TIERS, providers=LAN), {})
    found = {name: models.find(name).name for name in ("cheap", "normal", "dear", "usual", "default", "")}
    assert found == {
        "cheap": "house",
        "normal": "lan:small",
        "dear": "lan:small",
        "usual": "house",
        "default": "house",
        "": "house",
    }
    assert models.find("dear") is models.find("lan:small")


@pytest.mark.parametrize(
    ("default", "tiers", "way"),
    [
        ("cheap", {"cheap": "default"}, "from 'cheap' to 'default' to 'cheap'"),
        ("house", {"cheap": "cheap"}, "from 'cheap' to 'cheap'"),
        ("house", {"cheap": "dear", "dear": "normal", "normal": "dear"}, "to 'dear' to 'normal' to 'dear'"),
    ],
)
def test_tiers_that_lead_in_a_circle_are_said_to(default: str, tiers: dict[str, str], way: str) -> None:
    models = ModelRegistry(Limits(default=default, tiers=tiers), {})
    with pytest.raises(ModelFailed, match="they refer in a circle") as failure:
        models.find("cheap")
    assert way in failure.value.message
    assert models.instead_of("cheap") is models.find("house")


def test_an_unknown_tier_says_which_there_are() -> None:
    models = ModelRegistry(Limits(tiers=TIERS, providers=LAN), {})
    with pytest.raises(ModelFailed, match="'expensive'; valid: house, cheap, normal, dear, usual, lan:NAME"):
        models.find("expensive")


@pytest.mark.parametrize("name", ["house", "default", "local", "openai", "anthropic", "a:b", "Big"])
def test_a_tier_cannot_take_the_name_of_something_else(name: str, tmp_path: Path) -> None:
    file = tmp_path / "doorward.toml"
    file.write_text(f'[models.tiers]\n"{name}" = "house"\n')
    with pytest.raises(Unusable, match=r"models\.tiers"):
        settings.load_settings(file)


async def test_the_keeper_and_personas_may_name_a_tier_and_the_list_of_models_shows_them(opened: Any) -> None:
    changes = Settings(models=Limits(tiers=TIERS, providers=LAN), keeper=KeeperSettings(model="cheap"))
    async with opened(changes=changes) as driver:
        answer = (await driver.owner("agent/ask", prompt="how many rooms do we have")).result
        body = {"personaId": "saver", "displayName": "Saver", "rooms": ["general"], "model": "cheap"}
        await driver.owner("persona/put", id="saver", text=json.dumps(body))
        listed = (await driver.owner("model/list")).result["items"]
    assert (answer["success"], answer["model"]) == (True, "house")
    tiers = {one["provider"]: one["model"] for one in listed if one["kind"] == "tier"}
    assert tiers == TIERS
    assert not any(one["problem"] for one in listed)
