"""A remote model: one model of a provider, with timeouts and a rate-limit cooldown."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Protocol, cast

import msgspec

from doorward.agents.models.answer_shape import NotShaped, parse_shaped
from doorward.agents.models.daily_spending import SETTING as SPENDING_LIMIT
from doorward.agents.models.daily_spending import DailySpending
from doorward.agents.models.model import AnswerPiece, ModelFailed, Prompt, TextPiece, TokenUsage
from doorward.agents.models.prices import find_price, is_small_model
from doorward.agents.models.provider import ModelProvider, load_key
from doorward.agents.models.timeouts import Cooldown, IdleTimeout, format_seconds
from doorward.agents.models.token_counter import TokenCounter, count_tokens
from doorward.config import settings

log = logging.getLogger(__name__)

_STREAM_MODULE = "doorward.agents.models.provider_stream"
_UNPAID = frozenset(("rate_limited", "not_allowed", "unknown", "not_installed"))
"""Faults of requests that a provider does not charge for."""
_API_MODULES = {"openai": "doorward.agents.models.openai_api", "anthropic": "doorward.agents.models.anthropic_api"}
_MARGINS = {"openai": 1.0, "anthropic": 1.4}
"""The initial factor on the count of OpenAI's tokenizer, until the provider reports its own counts."""


class _StreamModule(Protocol):
    """The provider stream module, which is imported only when a model is first asked."""

    def stream_answer(
        self,
        provider: ModelProvider,
        model: str,
        key: str,
        limits: settings.ModelSettings,
        prompt: Prompt,
        connect: Any,
        socket: str | None = None,
        heard: Callable[[], None] | None = None,
    ) -> AsyncGenerator[AnswerPiece | None, None]: ...


class RemoteModel:
    """One model of one provider."""

    def __init__(
        self,
        provider: ModelProvider,
        model: str,
        limits: settings.ModelSettings,
        environment: Mapping[str, str],
        rest: Cooldown,
        spending: DailySpending | None = None,
    ) -> None:
        self.cooldown = rest
        self.name = f"{provider.name}:{model}"
        self._provider = provider
        self._model = model
        self._limits = limits
        self._environment = environment
        self._counter = TokenCounter(_MARGINS[provider.settings.kind])
        self.price = find_price(provider, model, limits.prices)
        """Its price; None if it is not known."""
        self._spending = spending or DailySpending()
        self.small = is_small_model(provider, model)
        """Whether it gets the short context of small models."""
        self.constrains = provider.constrains
        """Whether answers can be constrained to a shape, until the provider shows that they cannot."""

    @property
    def is_remote(self) -> bool:
        """Whether requests leave this machine."""
        return self._provider.is_remote

    def count(self, text: str) -> int:
        return self._counter.count(text)

    async def answer(self, prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        """Ask once, without retries. A rate-limited model is not asked again until its cooldown is over."""
        self._check_cooldown()
        key = load_key(self._provider, self._environment)
        self._provider.address(with_key=bool(key))
        reserved = await self._reserve_cost(prompt)
        spent = reserved
        try:
            async with contextlib.aclosing(self._stream_shaped(prompt, key)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, TokenUsage):
                        self._counter.learn(await asyncio.to_thread(_count_prompt, prompt), piece.input_tokens)
                        piece = self._with_cost(piece)
                        spent = piece.dollars or 0.0
                    yield piece
        except ModelFailed as error:
            if error.fault == "rate_limited" and error.retry_after:
                self.cooldown.start(error.retry_after)
            if error.fault in _UNPAID:
                spent = 0.0
            raise
        finally:
            if reserved:
                with contextlib.suppress(ModelFailed):  # then the highest cost stays counted
                    await self._spending.settle(self.name, reserved, spent)

    async def _reserve_cost(self, prompt: Prompt) -> float:
        """Count the highest cost of an answer if there is a limit in money, and return it."""
        limit = self._limits.dollars_per_day
        if not limit or not self.is_remote:
            return 0.0
        if self.price is None:
            raise ModelFailed(
                "not_allowed",
                f"The model {self.name} is not asked: its price is not known, so the limit of {SPENDING_LIMIT} cannot "
                f'be kept. Set its price in models.prices, such as "{self.name}" = [1.0, 2.0].',
            )
        shown = await asyncio.to_thread(_count_prompt, prompt)
        dollars = self.price.cost(-int(-shown * self._counter.ratio // 1), prompt.most_tokens)
        await self._spending.reserve(self.name, dollars, limit)
        return dollars

    def _with_cost(self, usage: TokenUsage) -> TokenUsage:
        if self.price is None:
            return usage
        return msgspec.structs.replace(usage, dollars=self.price.cost(usage.input_tokens, usage.output_tokens))

    async def _stream_shaped(
        self, prompt: Prompt, key: str, socket: str | None = None
    ) -> AsyncGenerator[AnswerPiece, None]:
        """Stream an answer. One with a shape comes in one piece, or without its shape where the provider has none."""
        if prompt.shape and self.constrains:
            try:
                async with contextlib.aclosing(self._stream(prompt, key, socket)) as pieces:
                    found = [piece async for piece in pieces]
            except ModelFailed as error:
                if error.fault != "bad_answer":
                    raise
            else:
                for piece in self._parse_shaped(found, prompt.shape, prompt.most_tokens):
                    yield piece
                return
        plain = msgspec.structs.replace(prompt, shape=None)
        answered = False
        async with contextlib.aclosing(self._stream(plain, key, socket)) as pieces:
            async for piece in pieces:
                if prompt.shape and self.constrains and not answered:
                    self._give_up_shapes("refuses it")
                answered = True
                yield piece

    def _parse_shaped(self, pieces: list[AnswerPiece], shape: Mapping[str, Any], most: int) -> list[AnswerPiece]:
        text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
        others: list[AnswerPiece] = [piece for piece in pieces if not isinstance(piece, TextPiece)]
        if not text:
            return others
        try:
            return [parse_shaped(text, shape), *others]
        except NotShaped:
            if any(isinstance(piece, TokenUsage) and piece.output_tokens >= most for piece in others):
                raise ModelFailed(
                    "cut", f"The answer of {self.name} breaks off inside a call, at the limit of {most} tokens."
                ) from None
            self._give_up_shapes("ignores it")
            return pieces

    def _give_up_shapes(self, why: str) -> None:
        """Say once that answers are not constrained, and do not try again until Doorward restarts."""
        self.constrains = False
        log.warning(
            "the answers of %s are not constrained to a schema until Doorward restarts: its provider %s", self.name, why
        )

    async def _stream(self, prompt: Prompt, key: str, socket: str | None = None) -> AsyncGenerator[AnswerPiece, None]:
        line, connect = await self._import_libraries()
        life = IdleTimeout()
        answer = line.stream_answer(
            self._provider, self._model, key, self._limits, prompt, connect, socket, life.extend
        )
        async with contextlib.aclosing(answer):
            async for piece in self._with_timeouts(answer, life):
                yield piece

    async def _with_timeouts(
        self, answer: AsyncGenerator[AnswerPiece | None, None], life: IdleTimeout
    ) -> AsyncGenerator[AnswerPiece, None]:
        patience, now = self._provider.settings, asyncio.get_running_loop().time
        end, wait, begun = now() + patience.answer_seconds, patience.first_seconds, False
        while True:
            if now() >= end:
                raise self._timeout_failure(begun, late=True)
            try:
                async with life.start(wait, end):
                    piece = await anext(answer)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise self._timeout_failure(begun, late=now() >= end) from None
            begun, wait = True, patience.piece_seconds
            if piece is not None:
                yield piece

    def _timeout_failure(self, begun: bool, *, late: bool) -> ModelFailed:
        """Return the failure for a timeout, naming the setting."""
        patience = self._provider.settings
        if late:
            words, field = f"did not finish its answer within {patience.answer_seconds:g} seconds", "answer_seconds"
        elif begun:
            words = f"sent nothing for {patience.piece_seconds:g} seconds during its answer"
            field = "piece_seconds"
        else:
            words, field = f"did not begin to answer within {patience.first_seconds:g} seconds", "first_seconds"
        return ModelFailed("slow", f"{self._display_name} {words} (the setting {self._settings_table}.{field}).")

    @property
    def _display_name(self) -> str:
        return f"The provider of {self.name}"

    @property
    def _settings_table(self) -> str:
        """The table of its settings."""
        return f"models.providers.{self._provider.name}"

    def _check_cooldown(self) -> None:
        left = self.cooldown.seconds_left
        if left > 0:
            raise ModelFailed(
                "rate_limited",
                f"The provider of {self.name} is rate limiting requests; try again in {format_seconds(left)}.",
                left,
            )

    async def _import_libraries(self) -> tuple[_StreamModule, Any]:
        """Import the libraries in a thread, because the first import takes seconds."""

        def load() -> tuple[_StreamModule, Any]:
            line = cast(_StreamModule, importlib.import_module(_STREAM_MODULE))
            return line, importlib.import_module(_API_MODULES[self._provider.settings.kind]).connect

        try:
            return await asyncio.to_thread(load)
        except (ImportError, AttributeError, TypeError) as error:  # missing, or incompatible versions
            raise ModelFailed(
                "not_installed",
                f"The model {self.name} needs packages that are not installed or not compatible "
                f"({getattr(error, 'name', None) or 'one of them'}); run: pip install 'doorward[models]'.",
            ) from None


def _count_prompt(prompt: Prompt) -> int:
    """Count the tokens of a whole prompt with the tokenizer."""
    parts = [prompt.instructions]
    for turn in prompt.turns:
        parts += [turn.speaker, turn.text, *(f"{call.name} {call.arguments}" for call in turn.calls)]
    parts += [f"{tool.name} {tool.description} {msgspec.json.encode(tool.schema).decode()}" for tool in prompt.tools]
    return sum(map(count_tokens, parts))
