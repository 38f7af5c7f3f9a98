"""How programs run in a room, as its recipe says."""

from __future__ import annotations

import functools

from doorward.core.host_rules import HostRule, parse_rule
from doorward.gate.recipes.book import RecipeBook
from doorward.gate.recipes.recipe import SandboxTerms
from doorward.rooms.rooms import Rooms

_parse_rule = functools.lru_cache(2_048)(parse_rule)


def find_sandbox_terms(rooms: Rooms, recipes: RecipeBook, tenant: str, room: str) -> SandboxTerms:
    """The terms of a room; the strictest ones outside rooms and where the recipe is gone."""
    found = rooms.get(tenant, room) if room else None
    recipe = recipes.recipe(found.recipe) if found is not None else None
    return recipe.strategy.sandbox if recipe is not None else SandboxTerms()


def list_hosts(terms: SandboxTerms) -> list[HostRule]:
    """The hosts that programs may reach through the proxy."""
    return [] if isinstance(terms.network, str) else [_parse_rule(text) for text in terms.network]
