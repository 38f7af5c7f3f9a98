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

from doorward.agents.models.local_process import INSTALL, LocalProcess, check_file
from doorward.agents.models.model import AnswerPiece, ModelFailed, Prompt
from doorward.agents.models.provider import ModelProvider
from doorward.agents.models.remote import RemoteModel
from doorward.agents.models.timeouts import Cooldown
from doorward.config import settings
from doorward.core.escape_invisible import to_storable

LOCAL = "local"
FILE_VARIABLE = "DOORWARD_GGUF"
"""The environment variable that names a file, which becomes the model `local:gguf`."""
_VARIABLE_MODEL = "gguf"
_MAX_TOKENIZED = 262_144
"""Characters that its tokenizer counts. The rest of a longer text is estimated from its bytes."""


class LocalModel(RemoteModel):
    def __init__(
        self,
        name: str,
        given: settings.LocalModelSettings,
        limits: settings.ModelSettings,
        available: Callable[[], int | None] | None = None,
    ) -> None:
        provider = ModelProvider(
            name=LOCAL,
            settings=settings.ProviderSettings(
                base_url="http://localhost/v1",
                first_seconds=given.first_seconds,
                piece_seconds=given.piece_seconds,
                answer_seconds=given.answer_seconds,
            ),
            model=name,
        )
        super().__init__(provider, name, limits, {}, Cooldown())
        self.context = given.context
        self.small = given.small != "off"
        self._settings = given
        self._available = available
        self._process: LocalProcess | None = None
        self._request_lock = asyncio.Lock()
        self._load_lock = asyncio.Lock()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def loaded(self) -> bool:
        return self._process is not None and self._process.alive

    @property
    def process(self) -> int:
        """The id of its process; 0 while it is not loaded."""
        return self._process.pid if self._process is not None else 0

    @property
    def file(self) -> str:
        return self._settings.file

    @property
    def memory(self) -> int:
        """Its memory use in bytes; 0 while it is not loaded."""
        return self._process.memory if self._process is not None and self.loaded else 0

    def check(self) -> None:
        """Raise `ModelFailed` if it is already clear that it cannot be loaded."""
        if not is_installed():
            raise ModelFailed(
                "not_installed", f"The model {self.name} needs packages that are not installed; run: {INSTALL}."
            )
        check_file(self.name, self._settings, (lambda: None) if self.loaded else self._available)

    def count(self, text: str) -> int:
        """Count tokens with its own tokenizer while it is loaded; otherwise return an upper bound."""
        text, process = to_storable(text), self._process
        counted = process.count(text[:_MAX_TOKENIZED]) if process is not None else None
        return _max_tokens(text) if counted is None else counted + _max_tokens(text[_MAX_TOKENIZED:])

    async def load(self) -> None:
        """Load it, if it is not loaded. Raises `ModelFailed` if that is not possible."""
        await self._ensure_loaded()

    async def _ensure_loaded(self) -> LocalProcess:
        async with self._load_lock:
            if self._closed:
                raise ModelFailed("down", f"The model {self.name} was unloaded because Doorward is stopping.")
            if self._process is not None and self._process.alive:
                return self._process
            await self._unload()
            await asyncio.to_thread(self.check)
            self._process = process = LocalProcess(self.name, self._settings)
            try:
                await asyncio.to_thread(process.start)
            except asyncio.CancelledError:  # the thread continues; ending the process ends it too
                await asyncio.shield(self._unload())
                raise
            self._start_idle_timer()
            return process

    async def answer(self, prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        """Answer after the requests before this one. Closing the iterator aborts the answer and frees the model."""
        async with self._request_lock:
            process = await self._ensure_loaded()
            self._cancel_idle_timer()
            fitting = msgspec.structs.replace(prompt, most_tokens=min(prompt.most_tokens, self.context))
            try:
                async with contextlib.aclosing(self._stream_shaped(fitting, process.key, process.socket)) as pieces:
                    async for piece in pieces:
                        yield piece
            except ModelFailed as error:
                if error.fault in ("cut", "down") and await asyncio.to_thread(process.is_ending):
                    raise ModelFailed(
                        error.fault, f"The process of the model {self.name} ended during its answer."
                    ) from None
                raise
            finally:
                self._start_idle_timer()

    @property
    def _display_name(self) -> str:
        return f"The model {self.name}"

    @property
    def _settings_table(self) -> str:
        return f"models.local.{self._model}"

    async def close(self) -> None:
        """Unload it for good."""
        self._closed = True
        await self._unload()

    def _cancel_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _start_idle_timer(self) -> None:
        self._cancel_idle_timer()
        loop = asyncio.get_running_loop()
        self._idle_timer = loop.call_later(self._settings.idle_minutes * 60, self._unload_idle)

    def _unload_idle(self) -> None:
        process = self._process
        if process is not None and not self._request_lock.locked() and not self._load_lock.locked():
            self._process = None
            asyncio.get_running_loop().run_in_executor(None, process.end)

    async def _unload(self) -> None:
        self._cancel_idle_timer()
        process, self._process = self._process, None
        if process is not None:
            await asyncio.to_thread(process.end)


def _max_tokens(text: str) -> int:
    """Return an upper bound on the tokens of a text: its bytes, with three tokens per space."""
    return len(text.encode()) + 2 * text.count(" ") + 4 if text else 0


def load_local_models(
    given: settings.ModelSettings, environment: Mapping[str, str], available: Callable[[], int | None] | None = None
) -> dict[str, LocalModel]:
    """Return all local models by name: those in the settings, and the one in the environment."""
    found = dict(given.local)
    if environment.get(FILE_VARIABLE):
        found.setdefault(_VARIABLE_MODEL, settings.LocalModelSettings(file=environment[FILE_VARIABLE]))
    return {name: LocalModel(name, one, given, available) for name, one in found.items()}


def is_installed() -> bool:
    """Whether the packages for local models are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("xllamacpp", "pydantic_ai"))
