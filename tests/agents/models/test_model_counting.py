"""Tokens are counted, and what a provider counted itself is believed more."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_provider import PROMPT, asked, raw_provider

from doorward.agents.models import token_counter
from doorward.agents.models.model import ChatTurn, Prompt
from doorward.agents.models.registry import ModelRegistry
from doorward.agents.models.token_counter import TokenCounter, count_tokens
from doorward.config.settings import ModelSettings as Limits

pytestmark = pytest.mark.anyio


def test_a_count_is_that_of_the_tokenizer() -> None:
    """Counts that OpenAI's tokenizer o200k_base is known for."""
    assert count_tokens("") == 0
    assert count_tokens("hello world") == 2
    assert count_tokens("<|endoftext|>") == 7, "words of the tokenizer itself are text like any other"


def test_a_megabyte_is_counted_in_parts_and_never_too_low() -> None:
    exact = "one door " * 29_000
    assert count_tokens(exact) < len(exact) / 4
    huge = exact + "x" * 1_000_000
    assert count_tokens(huge) >= 1_000_000


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_any_text_has_a_count_and_no_more_tokens_than_bytes(text: str) -> None:
    assert 0 <= count_tokens(text) <= len(text.encode("utf-8", "replace"))


def test_half_a_character_is_counted_as_well() -> None:
    assert count_tokens("a\ud800b") > 0


def test_without_the_tokenizer_bytes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_counter, "_load_tokenizer", lambda: None)
    assert count_tokens("héllo") == 6
    assert TokenCounter().count("hello world") == 11


def test_a_provider_that_counts_more_is_believed_and_one_that_counts_less_is_not() -> None:
    counter = TokenCounter(margin=1.4)
    assert counter.count("hello world") == 3, "two, with a margin, rounded up"
    counter.learn(1_000, 1_100)
    assert counter.ratio == pytest.approx(1.1)
    counter.learn(1_000, 1_600)
    counter.learn(1_000, 900)
    assert counter.ratio == pytest.approx(1.6), "the largest of the last few"
    for _ in range(8):
        counter.learn(1_000, 10)
    assert counter.ratio == 1.0
    counter.learn(1_000, 10**9)
    assert counter.ratio == 4.0
    counter = TokenCounter()
    counter.learn(10, 30)
    counter.learn(1_000, 0)
    assert counter.ratio == 1.0, "a few words say little, and no number says nothing"


def test_the_house_and_providers_count_before_they_are_asked() -> None:
    models = ModelRegistry(Limits(), {"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b"})
    text = "How many rooms do we have? " * 40
    ours, theirs = models.find("openai").count(text), models.find("anthropic:m").count(text)
    assert ours == count_tokens(text)
    assert theirs > ours


async def test_the_first_answer_corrects_the_count() -> None:
    """The provider says that the prompt was 400 tokens, whatever the tokenizer thinks."""
    async with raw_provider("anthropic") as raw:
        model = (models := raw.models()).find("raw:m")
        long = Prompt(instructions="one door " * 125, turns=(ChatTurn(role="user", text="Hello?"),), tools=PROMPT.tools)
        before = model.count("one door " * 1_000)
        await asked(models, "raw:m", long)
        assert model.count("one door " * 1_000) != before
        assert model.count("one door " * 1_000) >= count_tokens("one door " * 1_000)
