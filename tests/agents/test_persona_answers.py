"""Answers of models are read as they come, and no more of them than there may be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from persona_house import Scripted, asked

from doorward.agents.answering import Answer, answer
from doorward.agents.models.model import ModelFailed, Piece, Prompt, Spent, Text
from doorward.settings import Personas

PROMPT = Prompt(instructions="", turns=())


async def read(model: Scripted, **limits: float) -> Answer:
    return await answer(model, PROMPT, Personas(**limits), lambda _: None)


async def test_an_answer_is_its_text_its_calls_and_what_it_cost() -> None:
    got = await read(Scripted([Text("a"), Text("b"), asked("data_list", "c1"), Spent(3, 4)]))
    assert (got.text, [one.id for one in got.asked], got.spent, got.cut) == ("ab", ["c1"], Spent(3, 4), "")


async def test_a_model_that_never_ends_is_cut_and_closed() -> None:
    closed = asyncio.Event()

    async def endless(prompt: Prompt) -> AsyncGenerator[Piece, None]:
        try:
            while True:
                yield Text("word ")
        finally:
            closed.set()

    got = await read(Scripted(endless), answer_characters=1_000)
    assert len(got.text) == 1_000
    assert "1000 characters" in got.cut
    got = await read(Scripted(endless), answer_pieces=50)
    assert "50 pieces" in got.cut
    assert closed.is_set()


async def test_a_model_that_says_nothing_for_too_long_has_failed_and_one_that_began_is_cut() -> None:
    async def silent(prompt: Prompt) -> AsyncGenerator[Piece, None]:
        await asyncio.Event().wait()
        yield Text("never")

    async def begun(prompt: Prompt) -> AsyncGenerator[Piece, None]:
        yield Text("It is")
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
    got = await read(Scripted([Text("It is"), ModelFailed("cut", "It broke off.")]))
    assert (got.text, got.cut) == ("It is", "It broke off.")
    with pytest.raises(ModelFailed):
        await read(Scripted([ModelFailed("down", "Nobody there.")]))


async def test_every_piece_is_told_and_none_is_lost() -> None:
    told = 0

    def hear(_: object) -> None:
        nonlocal told
        told += 1

    pieces: list[Piece | Exception] = [Text("x")] * 50_000
    got = await answer(Scripted(pieces), PROMPT, Personas(), hear)
    assert (len(got.text), told) == (50_000, 50_000)
