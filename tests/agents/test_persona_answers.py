"""Answers of models are read as they come, and no more of them than there may be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from persona_house import Scripted, asked

from doorward.agents.answers import ModelAnswer, read_answer
from doorward.agents.models.model import AnswerPiece, ModelFailed, Prompt, TextPiece, TokenUsage
from doorward.config.settings import PersonaSettings

PROMPT = Prompt(instructions="", turns=())


async def read(model: Scripted, **limits: float) -> ModelAnswer:
    return await read_answer(model, PROMPT, PersonaSettings(**limits), lambda _: None)


async def test_an_answer_is_its_text_its_calls_and_what_it_cost() -> None:
    got = await read(Scripted([TextPiece("a"), TextPiece("b"), asked("data_list", "c1"), TokenUsage(3, 4)]))
    assert (got.text, [one.id for one in got.asked], got.spent, got.cut) == ("ab", ["c1"], TokenUsage(3, 4), "")


async def test_a_model_that_never_ends_is_cut_and_closed() -> None:
    closed = asyncio.Event()

    async def endless(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        try:
            while True:
                yield TextPiece("word ")
        finally:
            closed.set()

    got = await read(Scripted(endless), answer_characters=1_000)
    assert len(got.text) == 1_000
    assert "1000 characters" in got.cut
    got = await read(Scripted(endless), answer_pieces=50)
    assert "50 pieces" in got.cut
    assert closed.is_set()


async def test_a_model_that_says_nothing_for_too_long_has_failed_and_one_that_began_is_cut() -> None:
    async def silent(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        await asyncio.Event().wait()
        yield TextPiece("never")

    async def begun(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        yield TextPiece("It is")
        await asyncio.Event().wait()

    with pytest.raises(ModelFailed, match=r"0\.01 s") as failed:
        await read(Scripted(silent), answer_seconds=0.01)
    assert failed.value.fault == "slow"
    got = await read(Scripted(begun), answer_seconds=0.01)
    assert (got.text, got.cut) == (
        "It is",
        "The answer was not complete after 0.01 s (the setting personas.answer_seconds).",
    )


async def test_an_answer_that_breaks_off_is_kept_and_said_to_be_broken() -> None:
    got = await read(Scripted([TextPiece("It is"), ModelFailed("cut", "It broke off.")]))
    assert (got.text, got.cut) == ("It is", "It broke off.")
    with pytest.raises(ModelFailed):
        await read(Scripted([ModelFailed("down", "Nobody there.")]))


async def test_every_piece_is_told_and_none_is_lost() -> None:
    told = 0

    def hear(_: object) -> None:
        nonlocal told
        told += 1

    pieces: list[AnswerPiece | Exception] = [TextPiece("x")] * 50_000
    got = await read_answer(Scripted(pieces), PROMPT, PersonaSettings(), hear)
    assert (len(got.text), told) == (50_000, 50_000)
