"""Read one streamed answer of a model, within the limits on time and size."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import cast

import msgspec

from doorward.agents.models.model import Asked, Lost, Model, ModelFailed, Piece, Prompt, Spent, Text
from doorward.settings import Personas

_SETTING = "the setting personas.answer_seconds"
_BREATHER = 200
"""Pieces after which other tasks get to run, in case a model never awaits anything."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    asked: tuple[Asked, ...] = ()
    cut: str = ""
    """Why the answer is incomplete, as a sentence. Calls in an incomplete answer are not run."""
    fault: ModelFailed | None = None
    """The failure that ended the answer, if the model failed."""
    spent: Spent | None = None
    lost: Lost | None = None
    """Set when the model reports that it does not act on the request."""


Told = Callable[[Callable[[], str]], None]
"""Receives a function that returns the text so far. Joining the text for every piece would be slow."""


async def answer(model: Model, prompt: Prompt, limits: Personas, told: Told) -> Answer:
    """Return the answer, complete or cut. `told` is called for every piece of text.

    Raises `ModelFailed` if the model fails before its first piece.
    """
    reading = _Reading(limits, told)
    try:
        async with asyncio.timeout(limits.answer_seconds):
            # Closing the iterator ends the request, however the reading ends.
            async with contextlib.aclosing(cast(AsyncGenerator[Piece, None], model.answer(prompt))) as pieces:
                async for piece in pieces:
                    if not reading.take(piece):
                        break
                    if reading.pieces % _BREATHER == 0:
                        await asyncio.sleep(0)
    except ModelFailed as error:
        if reading.is_empty:
            raise
        reading.cut, reading.fault = error.message, error
    except TimeoutError:
        reading.cut = f"The answer was not complete after {limits.answer_seconds:g} s ({_SETTING})."
        if reading.is_empty:
            raise ModelFailed("slow", f"No answer within {limits.answer_seconds:g} s ({_SETTING}).") from None
    return reading.answer()


class _Reading:
    def __init__(self, limits: Personas, told: Told) -> None:
        self.pieces = 0
        self.cut = ""
        self.fault: ModelFailed | None = None
        self._limits = limits
        self._told = told
        self._text: list[str] = []
        self._length = 0
        self._asked: list[Asked] = []
        self._spent: Spent | None = None
        self._lost: Lost | None = None

    @property
    def is_empty(self) -> bool:
        return not self._length and not self._asked

    def take(self, piece: Piece) -> bool:
        """Add a piece; return whether to read on."""
        self.pieces += 1
        if isinstance(piece, Spent):
            self._spent = piece
        elif isinstance(piece, Lost):
            self._lost = piece
        elif isinstance(piece, Asked):
            self._length += len(piece.arguments)
            self._asked.append(piece)
        else:
            self._add(piece)
        if self._length > self._limits.answer_characters:
            self.cut = f"The answer was cut off after {self._limits.answer_characters} characters."
        elif self.pieces >= self._limits.answer_pieces:
            self.cut = f"The answer was cut off after {self._limits.answer_pieces} pieces."
        return not self.cut

    def _add(self, piece: Text) -> None:
        left = self._limits.answer_characters - self._length
        self._text.append(piece.text[: max(0, left)])
        self._length += len(piece.text)
        self._told(lambda: "".join(self._text))

    def answer(self) -> Answer:
        return Answer(
            text="".join(self._text),
            asked=tuple(self._asked),
            cut=self.cut,
            fault=self.fault,
            spent=self._spent,
            lost=self._lost,
        )
