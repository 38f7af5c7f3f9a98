"""The permission decision against an independent model of it, on 200,000 random cases (R2.2)."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable, Iterable
from typing import Any

from doorward.core.classification import Tier
from doorward.gate.recipes.policy import decide_permission
from doorward.gate.recipes.recipe import parse_recipe

AREAS = {
    "": ["data", "bash", "screenshot"],
    "data/": ["list", "delete", "deep/list"],
    "data-x/": ["list"],
    "database/": ["list"],
    "file/": ["write", "read"],
    "bash/": ["run"],
    "screenshot/": ["all"],
    "ui/": ["click", "drag", "type"],
    "browser/": ["click", "open"],
    "system/": ["status", "shutdown"],
    "user/": ["add"],
    "help/": ["search"],
    "ai/": ["report"],
    "canvas/": ["draw"],
    "game/": ["move"],
    "web/": ["v1.get"],
}
NAMES = [area + verb for area, verbs in AREAS.items() for verb in verbs]
CASES = [(name, tier) for name in NAMES for tier in Tier]
PATTERNS = [*NAMES, *(f"{area}*" for area in AREAS), "no/such", "nothing/*"]
ROUNDS = 200_000 // len(CASES)


@functools.cache
def meant(pattern: str) -> frozenset[tuple[str, str]]:
    """Every case that one pattern names."""
    words, found = pattern.split("/"), set()
    for name, tier in CASES:
        steps = name.split("/")
        whole = pattern == "*"
        area = words[-1] == "*" and len(steps) > len(words) - 1 and steps[: len(words) - 1] == words[:-1]
        if whole or (area and len(words) > 1) or steps == words:
            found.add((name, str(tier)))
    return frozenset(found)


def model(recipe: dict[str, Any]) -> set[tuple[str, str]]:
    """Every case the recipe allows, from the specification's words, as sums and differences of sets."""

    def named(patterns: Iterable[str]) -> set[tuple[str, str]]:
        return set().union(*map(meant, patterns))

    commands = recipe["strategy"].get("aiCommands", {"enabled": False})
    if commands.get("enabled", False) is False:
        return set()
    granted = commands.get("tiers", [])
    visual = commands.get("visual", {})
    allowed = named(commands.get("whitelist", [])) | {(name, str(tier)) for name, tier in CASES if tier in granted}
    if visual.get("screenshotOnly"):
        allowed -= {(name, "visual") for name in NAMES if name != "screenshot"}
    if visual.get("noClicks"):
        allowed -= named(["ui/click", "ui/drag", "browser/click"])
    return allowed - named(commands.get("blacklist", []))


def random_recipe(chance: random.Random) -> dict[str, Any]:
    def few(pool: list[str]) -> list[str]:
        return chance.sample(pool, chance.choice([0, 1, 1, 2, 3, 5]))

    fields: dict[str, Callable[[], Any]] = {
        "enabled": lambda: chance.random() < 0.9,
        "whitelist": lambda: few(PATTERNS),
        "blacklist": lambda: few(PATTERNS),
        "tiers": lambda: few([str(tier) for tier in Tier]),
        "visual": lambda: {key: chance.random() < 0.5 for key in few(["screenshotOnly", "noClicks"] * 3)},
        "requireApproval": lambda: dict.fromkeys(few(PATTERNS), True),
        "maxCommandsPerMinute": lambda: chance.randint(1, 9),
    }
    commands = {key: draw() for key, draw in fields.items() if chance.random() < (0.95 if key == "enabled" else 0.7)}
    strategy = {"aiCommands": commands} if chance.random() < 0.98 else {}
    return {"recipeId": "drawn", "displayName": "Drawn", "strategy": strategy}


def test_the_decision_is_that_of_the_model_in_every_random_case() -> None:
    chance = random.Random(20_251)
    allowed = different = 0
    for _ in range(ROUNDS):
        drawn = random_recipe(chance)
        commands = parse_recipe(json.dumps(drawn).encode(), "drawn.json").strategy.ai_commands
        expected = model(drawn)
        for name, tier in CASES:
            ours = decide_permission(commands, name, tier).allowed
            allowed += ours
            different += ours is not ((name, str(tier)) in expected)
    assert different == 0
    assert 40_000 < allowed < 160_000
