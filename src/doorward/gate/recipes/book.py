"""The recipes in force, loaded from a folder and reloaded when it changes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from doorward.config.watched_folder import WatchedFolder
from doorward.core.clock import Clock
from doorward.core.events import Bus, RecipeLoaded, RecipeRejected
from doorward.gate.recipes.policy import Policy
from doorward.gate.recipes.recipe import MAX_BYTES, BadRecipe, Recipe, is_recipe_id, parse_recipe
from doorward.store.last_good import LastGoodVersions
from doorward.store.sqlite import Store

_EVERY_TENANT = ""


class _CompiledRecipe(NamedTuple):
    recipe: Recipe
    policy: Policy


class RecipeBook(WatchedFolder[_CompiledRecipe]):
    """The recipes in force."""

    kind = "recipes"
    id_field = "recipeId"
    package = "doorward.gate.recipes"
    max_bytes = MAX_BYTES
    error_class = BadRecipe
    log = logging.getLogger(__name__)

    def __init__(self, folder: Path, store: Store, events: Bus, clock: Clock) -> None:
        super().__init__(folder, LastGoodVersions(store, "recipes", clock), _compile_recipe)
        self._events = events
        self._clock = clock

    def policy(self, recipe_id: str) -> Policy | None:
        version = self.versions.get(recipe_id)
        return version.parsed.policy if version else None

    def recipe(self, recipe_id: str) -> Recipe | None:
        version = self.versions.get(recipe_id)
        return version.parsed.recipe if version else None

    def recipes(self) -> list[Recipe]:
        return [version.parsed.recipe for _, version in sorted(self.versions.items())]

    def is_id(self, id: str) -> bool:
        return is_recipe_id(id)

    def on_rejected(self, name: str, message: str) -> None:
        id, now = name.removesuffix(".json"), self._clock.now()
        self._events.publish(RecipeRejected(tenant=_EVERY_TENANT, at=now, recipe=id, reason=message))

    def on_loaded(self, id: str) -> None:
        self._events.publish(RecipeLoaded(tenant=_EVERY_TENANT, at=self._clock.now(), recipe=id))

    def on_removed(self, id: str) -> None:
        self.log.warning("The file of the recipe %s is gone; rooms that use it allow no commands.", id)


def _compile_recipe(text: bytes, name: str) -> _CompiledRecipe:
    recipe = parse_recipe(text, name)
    return _CompiledRecipe(recipe, Policy(recipe))
