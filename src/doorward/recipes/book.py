"""The recipes in force, loaded from a folder and reloaded when it changes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from doorward.clock import Clock
from doorward.edited.folderbook import FolderBook
from doorward.events import Bus, RecipeLoaded, RecipeRejected
from doorward.recipes.policy import Policy
from doorward.recipes.recipe import LARGEST, BadRecipe, Recipe, is_recipe_id, parse
from doorward.store.last_good import LastGoods
from doorward.store.sqlite import Store

_EVERY_TENANT = ""


class _Made(NamedTuple):
    recipe: Recipe
    policy: Policy


class RecipeBook(FolderBook[_Made]):
    """The recipes in force."""

    what = "recipe"
    key = "recipeId"
    package = "doorward.recipes"
    largest = LARGEST
    bad = BadRecipe
    log = logging.getLogger(__name__)

    def __init__(self, folder: Path, store: Store, events: Bus, clock: Clock) -> None:
        super().__init__(folder, LastGoods(store, "recipes", clock), _made)
        self._events = events
        self._clock = clock

    def policy(self, recipe_id: str) -> Policy | None:
        version = self.versions.get(recipe_id)
        return version.made.policy if version else None

    def recipe(self, recipe_id: str) -> Recipe | None:
        version = self.versions.get(recipe_id)
        return version.made.recipe if version else None

    def recipes(self) -> list[Recipe]:
        return [version.made.recipe for _, version in sorted(self.versions.items())]

    def is_id(self, id: str) -> bool:
        return is_recipe_id(id)

    def rejected(self, id: str, message: str) -> None:
        now = self._clock.now()
        self._events.publish(RecipeRejected(tenant=_EVERY_TENANT, at=now, recipe=id, reason=message))

    def loaded(self, id: str) -> None:
        self._events.publish(RecipeLoaded(tenant=_EVERY_TENANT, at=self._clock.now(), recipe=id))

    def gone(self, id: str) -> None:
        self.log.warning("The file of the recipe %s is gone; rooms that use it allow no commands.", id)


def _made(text: bytes, name: str) -> _Made:
    recipe = parse(text, name)
    return _Made(recipe, Policy(recipe))
