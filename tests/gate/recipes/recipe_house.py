"""A folder of recipes with everything a book of them needs, for the tests of this folder."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from recipe_samples import command, text

from doorward.core.clock import Clock
from doorward.core.events import Bus, Event
from doorward.gate.recipes.book import RecipeBook
from doorward.store.last_good import LastGoodVersions
from doorward.store.sqlite import Store
from waiting import PATIENCE

OPEN = {"enabled": True, "whitelist": ["*"]}
SHUT = {"enabled": False}
LIST = command("data/list")


class House:
    """A folder of recipes, a real store, and every event that was published."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "recipes"
        self.folder.mkdir()
        self.store = Store(home / "house.db", b"k" * 32)
        self.events: list[Event] = []
        self.news = asyncio.Event()
        self.book = self.new_book()

    def new_book(self) -> RecipeBook:
        """A book that remembers nothing, as after a restart."""
        bus = Bus()
        bus.subscribe(self._hear)
        self.book = RecipeBook(self.folder, self.store, bus, Clock())
        return self.book

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        self.news.set()

    def write(self, name: str, body: bytes) -> Path:
        file = self.folder / name
        file.write_bytes(body)
        return file

    def put(self, recipe_id: str, ai_commands: Mapping[str, object]) -> Path:
        return self.write(f"{recipe_id}.json", text(ai_commands, recipe_id))

    def heard(self) -> list[tuple[str, str]]:
        """What was published since the last time, as (event, recipe)."""
        heard = [(event.name, str(getattr(event, "recipe", ""))) for event in self.events]
        self.events.clear()
        return heard

    async def last_good(self) -> dict[str, str]:
        """What is remembered for the time when files are broken."""
        return await LastGoodVersions(self.store, "recipes", Clock()).load_all()

    def allows(self, recipe_id: str) -> bool | None:
        policy = self.book.policy(recipe_id)
        return policy.rule_on(LIST).allowed if policy else None

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for events until something is so."""
        async with asyncio.timeout(PATIENCE):
            while not true():
                await self.news.wait()
                self.news.clear()

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.book.watch())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@contextmanager
def no_file_may_grow() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
