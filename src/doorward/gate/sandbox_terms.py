"""How programs run in a room, as its recipe says."""

from __future__ import annotations

import functools

from doorward.core.host_rules import HostTerms, parse_rule
from doorward.gate.recipes.book import RecipeBook
from doorward.gate.recipes.recipe import AskedNetwork, SandboxTerms, Strategy
from doorward.rooms.rooms import Rooms

_parse_rule = functools.lru_cache(2_048)(parse_rule)


def find_strategy(rooms: Rooms, recipes: RecipeBook, tenant: str, room: str) -> Strategy | None:
    """The strategy of a room's recipe; None outside rooms and where the recipe is gone."""
    found = rooms.get(tenant, room) if room else None
    recipe = recipes.recipe(found.recipe) if found is not None else None
    return recipe.strategy if recipe is not None else None


def find_sandbox_terms(rooms: Rooms, recipes: RecipeBook, tenant: str, room: str) -> SandboxTerms:
    """The terms of a room; the strictest ones where there is no strategy."""
    strategy = find_strategy(rooms, recipes, tenant, room)
    return strategy.sandbox if strategy is not None else SandboxTerms()


def find_host_terms(terms: SandboxTerms) -> HostTerms:
    """The hosts that programs may reach through the proxy, and whether a person is asked about others."""
    network = terms.network
    if isinstance(network, str):
        return HostTerms(asks=network == "ask")
    asks = isinstance(network, AskedNetwork)
    return HostTerms(tuple(map(_parse_rule, network.hosts if isinstance(network, AskedNetwork) else network)), asks)
