"""A local model: a GGUF file that runs on this machine.

It is loaded on first use, in its own process, answers one request at a time, and is unloaded after an idle time. It
speaks the OpenAI API on a Unix socket that only this account can reach.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
from collections.abc import AsyncGenerator, Callable, Mapping

import msgspec

from doorward import settings
from doorward.agents.models.local_process import INSTALL, LocalProcess, check
from doorward.agents.models.model import ModelFailed, Piece, Prompt
from doorward.agents.models.provider import Provider
from doorward.agents.models.remote import RemoteModel
from doorward.agents.models.rest import Rest
from doorward.visible import storable

LOCAL = "local"
VARIABLE = "DOORWARD_GGUF"
"""The environment variable that names a file, which becomes the model `local:gguf`."""
_NAME_BY_VARIABLE = "gguf"
_EXACT = 262_144
"""Characters that its tokenizer counts. The rest of a longer text is estimated from its bytes."""


class LocalModel(RemoteModel):
    def __init__(
        self,
        name: str,
        given: settings.Local,
        limits: settings.Models,
        available: Callable[[], int | None] | None = None,
    ) -> None:
        provider = Provider(
            name=LOCAL,
            settings=settings.Provider(
                base_url="http://localhost/v1",
                first_seconds=given.first_seconds,
                piece_seconds=given.piece_seconds,
                answer_seconds=given.answer_seconds,
            ),
            model=name,
        )
        super().__init__(provider, name, limits, {}, Rest())
        self.context = given.context
        self._given = given
        self._available = available
        self._process: LocalProcess | None = None
        self._one = asyncio.Lock()
        self._loading = asyncio.Lock()
        self._later: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def loaded(self) -> bool:
        return self._process is not None and self._process.alive

    @property
    def process(self) -> int:
        """The id of its process; 0 while it is not loaded."""
        return self._process.number if self._process is not None else 0

    @property
    def file(self) -> str:
        return self._given.file

    @property
    def memory(self) -> int:
        """Its memory use in bytes; 0 while it is not loaded."""
        return self._process.memory if self._process is not None and self.loaded else 0

    def check(self) -> None:
        """Raise `ModelFailed` if it is already clear that it cannot be loaded."""
        if not installed():
            raise ModelFailed(
                "not_installed", f"The model {self.name} needs packages that are not installed; run: {INSTALL}."
            )
        check(self.name, self._given, (lambda: None) if self.loaded else self._available)

    def count(self, text: str) -> int:
        """Count tokens with its own tokenizer while it is loaded; otherwise return an upper bound."""
        text, process = storable(text), self._process
        counted = process.count(text[:_EXACT]) if process is not None else None
        return _at_most(text) if counted is None else counted + _at_most(text[_EXACT:])

    async def load(self) -> None:
        """Load it, if it is not loaded. Raises `ModelFailed` if that is not possible."""
        await self._ready()

    async def _ready(self) -> LocalProcess:
        async with self._loading:
            if self._closed:
                raise ModelFailed("down", f"The model {self.name} was unloaded because Doorward is stopping.")
            if self._process is not None and self._process.alive:
                return self._process
            await self._end()
            await asyncio.to_thread(self.check)
            self._process = process = LocalProcess(self.name, self._given)
            try:
                await asyncio.to_thread(process.start)
            except asyncio.CancelledError:  # the thread continues; ending the process ends it too
                await asyncio.shield(self._end())
                raise
            self._put_away_later()
            return process

    async def answer(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Answer after the requests before this one. Closing the iterator aborts the answer and frees the model."""
        async with self._one:
            process = await self._ready()
            self._stay()
            fitting = msgspec.structs.replace(prompt, most_tokens=min(prompt.most_tokens, self.context))
            try:
                async with contextlib.aclosing(self._asked(fitting, process.key, process.socket)) as pieces:
                    async for piece in pieces:
                        yield piece
            except ModelFailed as error:
                if error.fault in ("cut", "down") and await asyncio.to_thread(process.is_ending):
                    raise ModelFailed(
                        error.fault, f"The process of the model {self.name} ended during its answer."
                    ) from None
                raise
            finally:
                self._put_away_later()

    @property
    def _called(self) -> str:
        return f"The model {self.name}"

    @property
    def _table(self) -> str:
        return f"models.local.{self._model}"

    async def close(self) -> None:
        """Unload it for good."""
        self._closed = True
        await self._end()

    def _stay(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None

    def _put_away_later(self) -> None:
        self._stay()
        loop = asyncio.get_running_loop()
        self._later = loop.call_later(self._given.idle_minutes * 60, self._put_away)

    def _put_away(self) -> None:
        process = self._process
        if process is not None and not self._one.locked() and not self._loading.locked():
            self._process = None
            asyncio.get_running_loop().run_in_executor(None, process.end)

    async def _end(self) -> None:
        self._stay()
        process, self._process = self._process, None
        if process is not None:
            await asyncio.to_thread(process.end)


def _at_most(text: str) -> int:
    """Return an upper bound on the tokens of a text: its bytes, with three tokens per space."""
    return len(text.encode()) + 2 * text.count(" ") + 4 if text else 0


def local_models(
    given: settings.Models, environment: Mapping[str, str], available: Callable[[], int | None] | None = None
) -> dict[str, LocalModel]:
    """Return all local models by name: those in the settings, and the one in the environment."""
    found = dict(given.local)
    if environment.get(VARIABLE):
        found.setdefault(_NAME_BY_VARIABLE, settings.Local(file=environment[VARIABLE]))
    return {name: LocalModel(name, one, given, available) for name, one in found.items()}


def installed() -> bool:
    """Whether the packages for local models are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("xllamacpp", "pydantic_ai"))
