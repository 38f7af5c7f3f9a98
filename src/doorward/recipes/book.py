"""All recipes in force, read from a folder and kept up to date with it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from doorward.clock import Clock
from doorward.edited import watching
from doorward.errors import DoorwardError, LedgerUnavailable, NotFound
from doorward.events import Bus, RecipeLoaded, RecipeRejected
from doorward.recipes import folder as files
from doorward.recipes.policy import Policy
from doorward.recipes.recipe import BadRecipe, Recipe, is_recipe_id, parse
from doorward.store import recipes as table
from doorward.store.sqlite import Store

log = logging.getLogger(__name__)

_EVERY_TENANT = ""


class _Version(NamedTuple):
    recipe: Recipe
    policy: Policy
    text: bytes
    digest: str


class _Reading(NamedTuple):
    versions: dict[str, _Version]
    problems: dict[str, str]
    absent: frozenset[str]
    """The recipes whose files are known to be gone."""


class RecipeBook:
    """The recipes in force. A bad file never replaces a good version, not even across a restart."""

    def __init__(self, folder: Path, store: Store, events: Bus, clock: Clock) -> None:
        self.problems: dict[str, str] = {}
        """What is wrong with the folder now: file name to message."""
        self._folder = folder
        self._store = store
        self._events = events
        self._clock = clock
        self._versions: dict[str, _Version] = {}
        self._remembered = True
        self._loading = asyncio.Lock()

    def policy(self, recipe_id: str) -> Policy | None:
        version = self._versions.get(recipe_id)
        return version.policy if version else None

    def recipes(self) -> list[Recipe]:
        return [version.recipe for _, version in sorted(self._versions.items())]

    def text(self, recipe_id: str) -> bytes | None:
        """The text that is in force, which is not the file's when the file is bad."""
        version = self._versions.get(recipe_id)
        return version.text if version else None

    async def load(self) -> None:
        """Read the folder; put good recipes in force, keep the last good of bad ones, drop those without a file."""
        async with self._loading:
            stored = await table.all_last_good(self._store)
            reading = await asyncio.to_thread(self._read, stored)
            versions, problems = self._versions, self.problems
            self._versions, self.problems = reading.versions, reading.problems
            self._announce(versions, problems)
            await self._remember(stored, reading.absent)

    async def watch(self) -> None:
        """Load on every change of the folder, until cancelled."""
        await watching.watch(self._folder, files.is_recipe_file, self._load_or_log)

    async def save(self, recipe_id: str, text: bytes) -> Recipe:
        """Check a recipe, write it to its file and put it in force; BadRecipe when it is not valid."""
        recipe = await asyncio.to_thread(self._check_and_write, recipe_id, text)
        await self.load()
        return recipe

    async def remove(self, recipe_id: str) -> None:
        """Delete a recipe's file; rooms that use it allow no commands from then on."""
        if not is_recipe_id(recipe_id):
            raise NotFound(f"There is no recipe {recipe_id[:80]!r}; nothing was removed.")
        await asyncio.to_thread(files.remove, self._file(recipe_id))
        await self.load()

    async def install_shipped(self) -> list[str]:
        """Write the shipped recipes whose files are missing; returns their ids. `load` puts them in force."""
        return await asyncio.to_thread(self._install)

    def _file(self, recipe_id: str) -> Path:
        return self._folder / f"{recipe_id}.json"

    def _check_and_write(self, recipe_id: str, text: bytes) -> Recipe:
        file = self._file(recipe_id)
        if not is_recipe_id(recipe_id):
            valid = "lower-case letters, digits and hyphens, a letter first, at most 63 characters"
            raise BadRecipe("to be saved", "recipeId", f"{recipe_id[:80]!r} is not valid; valid: {valid}")
        recipe = parse(text, file.name)
        files.replace(file, text)
        return recipe

    def _install(self) -> list[str]:
        files.make(self._folder)
        return [recipe_id for recipe_id, text in files.shipped().items() if files.create(self._file(recipe_id), text)]

    def _read(self, stored: Mapping[str, table.LastGood]) -> _Reading:
        known = frozenset((*self._versions, *stored))
        try:
            found = files.recipe_files(self._folder)
        except OSError as error:
            # No folder is no order to drop every recipe: it may be a disk that is not mounted.
            kept = {recipe_id: self._last_good(recipe_id, stored) for recipe_id in known}
            return _Reading(
                {recipe_id: version for recipe_id, version in kept.items() if version},
                {self._folder.name: f"The recipe folder {self._folder} cannot be read: {error.strerror}."},
                frozenset(),
            )
        reading = _Reading({}, {}, known - {file.stem for file in found})
        for file in found:
            name = files.shown_name(file)
            try:
                version: _Version | None = self._version(files.read(file), name)
            except BadRecipe as error:
                reading.problems[name] = error.message
                version = self._last_good(file.stem, stored)
            if version is not None:
                reading.versions[file.stem] = version
        return reading

    def _version(self, text: bytes, name: str) -> _Version:
        current = self._versions.get(name.removesuffix(".json"))
        if current is not None and current.text == text:
            return current
        recipe = parse(text, name)
        return _Version(recipe, Policy(recipe), text, hashlib.sha256(text).hexdigest())

    def _last_good(self, recipe_id: str, stored: Mapping[str, table.LastGood]) -> _Version | None:
        current = self._versions.get(recipe_id)
        if current is not None or recipe_id not in stored:
            return current
        try:
            return self._version(stored[recipe_id].body.encode(), f"{recipe_id}.json")
        except BadRecipe as error:
            log.warning("the stored last good version of recipe %s cannot be used any more: %s", recipe_id, error)
            return None

    def _announce(self, versions: Mapping[str, _Version], problems: Mapping[str, str]) -> None:
        """Tell what differs from these earlier versions and problems."""
        now = self._clock.now()
        for name, message in self.problems.items():
            if problems.get(name) == message:
                continue
            recipe_id = name.removesuffix(".json")
            kept = "The last good version stays in force." if recipe_id in self._versions else ""
            log.warning("%s %s", message, kept)
            self._events.publish(RecipeRejected(tenant=_EVERY_TENANT, at=now, recipe=recipe_id, reason=message))
        for recipe_id, version in self._versions.items():
            name = f"{recipe_id}.json"
            news = version is not versions.get(recipe_id) or name in problems
            if news and name not in self.problems:
                self._events.publish(RecipeLoaded(tenant=_EVERY_TENANT, at=now, recipe=recipe_id))
        for recipe_id in versions.keys() - self._versions.keys():
            log.warning("The recipe %s has no file any more; rooms that use it allow no commands.", recipe_id)

    async def _remember(self, stored: Mapping[str, table.LastGood], absent: frozenset[str]) -> None:
        """Bring the table to what is in force. What cannot be stored now is made up for by a later load."""
        now = self._clock.now()
        changed = [
            table.keep(table.LastGood(recipe_id, version.text.decode(), version.digest, now))
            for recipe_id, version in self._versions.items()
            if recipe_id not in stored or stored[recipe_id].digest != version.digest
        ]
        gone = [table.forget(recipe_id) for recipe_id in stored if recipe_id in absent]
        try:
            if changed or gone:
                await self._store.write(*changed, *gone)
            self._remembered = True
        except LedgerUnavailable as error:
            self._remembered = False
            log.warning("the recipes in force could not be stored as the last good ones: %s", error)

    async def _load_or_log(self) -> bool:
        """Whether nothing is left to be done."""
        try:
            await self.load()
        except DoorwardError as error:
            log.warning("the recipes could not be loaded and will be tried again: %s", error)
            return False
        return self._remembered
