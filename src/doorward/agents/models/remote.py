"""A remote model: one model of a provider, with timeouts and a rate-limit cooldown."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Protocol, cast

import msgspec

from doorward import settings
from doorward.agents.models.counting import Counter, counted
from doorward.agents.models.keys import key_of
from doorward.agents.models.life import Life
from doorward.agents.models.model import ModelFailed, Piece, Prompt, Spent
from doorward.agents.models.provider import Provider
from doorward.agents.models.rest import Rest, seconds

_LINE = "doorward.agents.models.line"
_WIRES = {"openai": "doorward.agents.models.openai_wire", "anthropic": "doorward.agents.models.anthropic_wire"}
_MARGINS = {"openai": 1.0, "anthropic": 1.4}
"""The initial factor on the count of OpenAI's tokenizer, until the provider reports its own counts."""


class _Line(Protocol):
    """The provider stream module, which is imported only when a model is first asked."""

    def pieces(
        self,
        provider: Provider,
        model: str,
        key: str,
        limits: settings.Models,
        prompt: Prompt,
        connect: Any,
        socket: str | None = None,
        heard: Callable[[], None] | None = None,
    ) -> AsyncGenerator[Piece | None, None]: ...


class RemoteModel:
    """One model of one provider."""

    def __init__(
        self, provider: Provider, model: str, limits: settings.Models, environment: Mapping[str, str], rest: Rest
    ) -> None:
        self.rest = rest
        self.name = f"{provider.name}:{model}"
        self._provider = provider
        self._model = model
        self._limits = limits
        self._environment = environment
        self._counter = Counter(_MARGINS[provider.settings.kind])

    @property
    def is_elsewhere(self) -> bool:
        """Whether requests leave this machine."""
        return self._provider.is_elsewhere

    def count(self, text: str) -> int:
        return self._counter.count(text)

    async def answer(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Ask once, without retries. A rate-limited model is not asked again until its cooldown is over."""
        self._check_rest()
        key = key_of(self._provider, self._environment)
        self._provider.address(with_key=bool(key))
        try:
            async with contextlib.aclosing(self._asked(prompt, key)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Spent):
                        self._counter.learn(await asyncio.to_thread(_counted, prompt), piece.input_tokens)
                    yield piece
        except ModelFailed as error:
            if error.fault == "rate_limited" and error.retry_after:
                self.rest.take(error.retry_after)
            raise

    async def _asked(self, prompt: Prompt, key: str, socket: str | None = None) -> AsyncGenerator[Piece, None]:
        line, connect = await self._libraries()
        life = Life()
        answer = line.pieces(self._provider, self._model, key, self._limits, prompt, connect, socket, life.heard)
        async with contextlib.aclosing(answer):
            async for piece in self._in_time(answer, life):
                yield piece

    async def _in_time(self, answer: AsyncGenerator[Piece | None, None], life: Life) -> AsyncGenerator[Piece, None]:
        patience, now = self._provider.settings, asyncio.get_running_loop().time
        end, wait, begun = now() + patience.answer_seconds, patience.first_seconds, False
        while True:
            if now() >= end:
                raise self._too_slow(begun, late=True)
            try:
                async with life.within(wait, end):
                    piece = await anext(answer)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise self._too_slow(begun, late=now() >= end) from None
            begun, wait = True, patience.piece_seconds
            if piece is not None:
                yield piece

    def _too_slow(self, begun: bool, *, late: bool) -> ModelFailed:
        """Return the failure for a timeout, naming the setting."""
        patience = self._provider.settings
        if late:
            words, field = f"did not finish its answer within {patience.answer_seconds:g} seconds", "answer_seconds"
        elif begun:
            words = f"sent nothing for {patience.piece_seconds:g} seconds during its answer"
            field = "piece_seconds"
        else:
            words, field = f"did not begin to answer within {patience.first_seconds:g} seconds", "first_seconds"
        return ModelFailed("slow", f"{self._called} {words} (the setting {self._table}.{field}).")

    @property
    def _called(self) -> str:
        return f"The provider of {self.name}"

    @property
    def _table(self) -> str:
        """The table of its settings."""
        return f"models.providers.{self._provider.name}"

    def _check_rest(self) -> None:
        left = self.rest.left
        if left > 0:
            raise ModelFailed(
                "rate_limited",
                f"The provider of {self.name} is rate limiting requests; try again in {seconds(left)}.",
                left,
            )

    async def _libraries(self) -> tuple[_Line, Any]:
        """Import the libraries in a thread, because the first import takes seconds."""

        def load() -> tuple[_Line, Any]:
            line = cast(_Line, importlib.import_module(_LINE))
            return line, importlib.import_module(_WIRES[self._provider.settings.kind]).connect

        try:
            return await asyncio.to_thread(load)
        except (ImportError, AttributeError, TypeError) as error:  # missing, or incompatible versions
            raise ModelFailed(
                "not_installed",
                f"The model {self.name} needs packages that are not installed or not compatible "
                f"({getattr(error, 'name', None) or 'one of them'}); run: pip install 'doorward[models]'.",
            ) from None


def _counted(prompt: Prompt) -> int:
    """Count the tokens of a whole prompt with the tokenizer."""
    parts = [prompt.instructions]
    for turn in prompt.turns:
        parts += [turn.speaker, turn.text, *(f"{call.name} {call.arguments}" for call in turn.calls)]
    parts += [f"{tool.name} {tool.description} {msgspec.json.encode(tool.schema).decode()}" for tool in prompt.tools]
    return sum(map(counted, parts))
