"""Small recipes and commands for the tests of this folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Command, Example, Facts, NoUndo
from doorward.gate.recipes.policy import Policy
from doorward.gate.recipes.recipe import parse_recipe

WORDS = {"type": "object", "additionalProperties": {"description": "anything"}, "properties": {}}


def text(ai_commands: Mapping[str, Any] | None = None, recipe_id: str = "sample", **more: Any) -> bytes:
    strategy = {} if ai_commands is None else {"aiCommands": ai_commands}
    return json.dumps({"recipeId": recipe_id, "displayName": "Sample", "strategy": strategy, **more}).encode()


def policy(recipe_id: str = "sample", **ai_commands: Any) -> Policy:
    return Policy(parse_recipe(text(ai_commands, recipe_id), f"{recipe_id}.json"))


def command(name: str, tier: Tier = Tier.INFORMATION, secret: frozenset[str] = frozenset()) -> Command:
    async def run(ctx: Any) -> None:
        """Does nothing."""

    reads = tier is Tier.INFORMATION
    facts = Facts(
        tier=tier,
        effects=Effects.READ if reads else Effects.WRITE,
        access=Access.READ,
        safety=Safety.SAFE,
        cost=0,
        timeout=1,
        undo=READS_ONLY if reads else NoUndo("a test needs none"),
        examples=(Example("do it", {}),),
    )
    return Command(
        name,
        facts,
        run=run,
        summary="Does nothing.",
        description="Does nothing.",
        category="tests",
        schema=WORDS,
        arguments={},
        secret=secret,
    )
