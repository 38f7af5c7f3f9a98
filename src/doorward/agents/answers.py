"""Ask a model and read its answer: streaming within limits, rate-limit waits, parsed calls, fallback models."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import cast

import msgspec

from doorward.agents.calls.answer_parser import parse_in_thread
from doorward.agents.calls.json_calls import parse_native_call
from doorward.agents.calls.parsed import ParsedAnswer, ParsedCall
from doorward.agents.models.model import (
    AnswerPiece,
    ChatTurn,
    Model,
    ModelFailed,
    NativeCall,
    NoAction,
    Prompt,
    TextPiece,
    TokenUsage,
)
from doorward.config.settings import PersonaSettings
from doorward.core.command import Command

_TIMEOUT_SETTING = "the setting personas.answer_seconds"
_PIECES_BEFORE_YIELD = 200
"""Pieces after which other tasks get to run, in case a model never awaits anything."""


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    asked: tuple[NativeCall, ...] = ()
    cut: str = ""
    """Why the answer is incomplete, as a sentence. Calls in an incomplete answer are not run."""
    fault: ModelFailed | None = None
    """The failure that ended the answer, if the model failed."""
    spent: TokenUsage | None = None
    lost: NoAction | None = None
    """Set when the model reports that it does not act on the request."""


OnText = Callable[[Callable[[], str]], None]
"""Receives a function that returns the text so far. Joining the text for every piece would be slow."""


async def read_answer(model: Model, prompt: Prompt, limits: PersonaSettings, told: OnText) -> ModelAnswer:
    """Return the answer, complete or cut. `told` is called for every piece of text.

    Raises `ModelFailed` if the model fails before its first piece.
    """
    reading = _AnswerReader(limits, told)
    try:
        async with asyncio.timeout(limits.answer_seconds):
            # Closing the iterator ends the request, however the reading ends.
            async with contextlib.aclosing(cast(AsyncGenerator[AnswerPiece, None], model.answer(prompt))) as pieces:
                async for piece in pieces:
                    if not reading.add(piece):
                        break
                    if reading.pieces % _PIECES_BEFORE_YIELD == 0:
                        await asyncio.sleep(0)
    except ModelFailed as error:
        if reading.is_empty:
            raise
        reading.cut, reading.fault = error.message, error
    except TimeoutError:
        reading.cut = f"The answer was not complete after {limits.answer_seconds:g} s ({_TIMEOUT_SETTING})."
        if reading.is_empty:
            raise ModelFailed("slow", f"No answer within {limits.answer_seconds:g} s ({_TIMEOUT_SETTING}).") from None
    return reading.result()


class _AnswerReader:
    def __init__(self, limits: PersonaSettings, told: OnText) -> None:
        self.pieces = 0
        self.cut = ""
        self.fault: ModelFailed | None = None
        self._limits = limits
        self._on_text = told
        self._text: list[str] = []
        self._length = 0
        self._asked: list[NativeCall] = []
        self._spent: TokenUsage | None = None
        self._lost: NoAction | None = None

    @property
    def is_empty(self) -> bool:
        return not self._length and not self._asked

    def add(self, piece: AnswerPiece) -> bool:
        """Add a piece; return whether to read on."""
        self.pieces += 1
        if isinstance(piece, TokenUsage):
            self._spent = piece
        elif isinstance(piece, NoAction):
            self._lost = piece
        elif isinstance(piece, NativeCall):
            self._length += len(piece.arguments)
            self._asked.append(piece)
        else:
            self._add_text(piece)
        if self._length > self._limits.answer_characters:
            self.cut = f"The answer was cut off after {self._limits.answer_characters} characters."
        elif self.pieces >= self._limits.answer_pieces:
            self.cut = f"The answer was cut off after {self._limits.answer_pieces} pieces."
        return not self.cut

    def _add_text(self, piece: TextPiece) -> None:
        left = self._limits.answer_characters - self._length
        self._text.append(piece.text[: max(0, left)])
        self._length += len(piece.text)
        self._on_text(lambda: "".join(self._text))

    def result(self) -> ModelAnswer:
        return ModelAnswer(
            text="".join(self._text),
            asked=tuple(self._asked),
            cut=self.cut,
            fault=self.fault,
            spent=self._spent,
            lost=self._lost,
        )


_MAX_FAULTS = 20
_INTENT = re.compile(
    r"\b(?:i['\u2019]?ll|i will|i am going to|i['\u2019]?m going to|let me|i can|i would|i['\u2019]?d|running|executing"
    r"|i (?:have )?(?:run|ran|executed|called|used)|using the|call(?:ing)? the|use the)\b",
    re.IGNORECASE,
)


async def parse_answer(got: ModelAnswer) -> tuple[ParsedAnswer, list[tuple[str, str]]]:
    """Parse the calls of an answer: its native tool calls or, without those, the calls written in its text.

    Also returns the unreadable calls, each as the provider's call id (may be empty) and the reason.
    """
    if not got.asked:
        reading = await parse_in_thread(got.text)
        return reading, [("", fault) for fault in reading.faults]
    calls: list[ParsedCall] = []
    faults: list[tuple[str, str]] = []
    for asked in got.asked:
        found = parse_native_call(asked)
        if isinstance(found, str):
            faults.append((asked.id, found))
        else:
            calls.append(found)
    return ParsedAnswer(calls=tuple(calls), prose=got.text.strip()), faults


def report_unreadable(faults: Sequence[tuple[str, str]]) -> list[ChatTurn]:
    """Report unreadable calls to the model."""
    told = [ChatTurn(role="result", text=fault, answers=id) for id, fault in faults[:_MAX_FAULTS]]
    if len(faults) > _MAX_FAULTS:
        left = len(faults) - _MAX_FAULTS
        told.append(ChatTurn(role="result", text=f"{left} more calls in this answer cannot be read."))
    return told


def only_mentions_command(text: str, offered: Sequence[Command]) -> bool:
    """Whether an answer without a call announces or claims that it runs a command, by name."""
    if not _INTENT.search(text):
        return False
    words = set(re.findall(r"[A-Za-z][\w/.-]*\w", text))
    return any("/" in one.name and (one.name in words or one.wire in words) for one in offered)


def correct_missing_call(hidden_from: str) -> str:
    """Tell a model that it mentioned a command without calling it. `hidden_from` names who did not see the answer."""
    return (
        f"Nothing was run: your answer mentions a command but contains no call, and {hidden_from} did not see it. Call "
        "the tool, or write the call on a line of its own: EXECUTE: command --name=value. If no command is needed, "
        "answer without mentioning one."
    )


_HOUSE_MODEL = "house"


def fallback_note(name: str, other: str, why: str) -> str:
    """Say that a fallback model answered. `why` is a complete sentence."""
    by = "the house model" if other == _HOUSE_MODEL else other
    return f"{name} is not available, so {by} answered instead: {why}"
