"""docs/RECIPES.md shows only recipes that are valid, and leaves out no field."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest
from console_blocks import ROOT, blocks

from doorward.core.classification import Tier
from doorward.gate.recipes.policy import decide_permission
from doorward.gate.recipes.recipe import Recipe, parse_recipe
from doorward.gate.recipes.schema import PUBLISHED

PAGE = (ROOT / "docs" / "RECIPES.md").read_text()
SHOWN: list[dict[str, Any]] = [json.loads(block) for block in blocks(PAGE, "json")]
WHOLE = [shown for shown in SHOWN if "recipeId" in shown]
FRAGMENTS = [shown for shown in SHOWN if "recipeId" not in shown]


def recipe_of(shown: dict[str, Any]) -> Recipe:
    """A whole recipe as it is, and a fragment as the aiCommands of one."""
    if "recipeId" not in shown:
        commands = {"enabled": True, **shown}
        shown = {"recipeId": "fragment", "displayName": "Fragment", "strategy": {"aiCommands": commands}}
    return parse_recipe(json.dumps(shown).encode(), f"{shown['recipeId']}.json")


@pytest.mark.parametrize("shown", SHOWN, ids=range(len(SHOWN)))
def test_every_shown_recipe_is_valid(shown: dict[str, Any]) -> None:
    recipe_of(shown)


def test_there_is_a_whole_recipe_and_a_fragment_for_each_kind_of_rule() -> None:
    assert WHOLE
    assert {"tiers", "blacklist", "parameterRules", "requireApproval"} <= {key for one in FRAGMENTS for key in one}


def test_every_field_of_the_schema_is_on_the_page() -> None:
    defined = PUBLISHED["$defs"]
    names = {*PUBLISHED["properties"], "strategy.conversationPattern", *defined["aiCommands"]["properties"]}
    names |= {*defined["approvalTerms"]["properties"], *defined["rule"]["properties"]}
    names |= set(defined["aiCommands"]["properties"]["visual"]["properties"])
    assert [name for name in sorted(names - {"strategy"}) if f"`{name}`" not in PAGE] == []


def test_the_defaults_on_the_page_are_those_of_the_schema() -> None:
    fields = PUBLISHED["$defs"]["aiCommands"]["properties"]
    for name in ("maxCommandsPerResponse", "maxCommandsPerMinute"):
        assert f"| `{name}` | {fields[name]['default']} |" in PAGE


def test_what_the_page_says_of_its_first_fragment_is_so() -> None:
    commands = recipe_of(FRAGMENTS[0]).strategy.ai_commands
    assert decide_permission(commands, "file/write", Tier.CODE).rule == 'tier "code"'
    assert decide_permission(commands, "file/delete", Tier.CODE).rule == 'blacklist "file/delete"'
    assert not decide_permission(commands, "room/say", Tier.APPLICATION).allowed


def test_every_shipped_recipe_is_on_the_page() -> None:
    shipped = [one.name for one in resources.files("doorward.gate.recipes").joinpath("shipped").iterdir()]
    assert [name for name in shipped if f"| `{name.removesuffix('.json')}` |" not in PAGE] == []
