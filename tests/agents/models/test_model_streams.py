"""What comes in a stream, and what does not come out of it: garbage, endless answers, calls, thoughts, secrets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from raw_provider import (
    KEY,
    PATIENCE,
    PROMPT,
    STREAM,
    Line,
    RawProvider,
    asked,
    begin,
    call,
    chunk,
    end,
    event,
    raw_provider,
    said,
    status,
    words,
)

from doorward.agents.models import provider
from doorward.agents.models.model import TextPiece
from doorward.agents.models.registry import ModelRegistry
from doorward.config.settings import ModelSettings as Limits

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["openai", "anthropic"])
async def raw(request: pytest.FixtureRequest) -> AsyncIterator[RawProvider]:
    async with raw_provider(request.param) as provider:
        yield provider


ODD: list[Any] = [
    "{not json",
    '{"choices": NaN}',
    "\x00\x01",
    [],
    7,
    None,
    "[" * 100_000,
    {"choices": "x"},
    {"choices": [7]},
    {"choices": [{"delta": 7}]},
    {"choices": [{"index": 0, "delta": {"content": {"a": 1}}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": 7}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": "x", "function": 7}]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"name": 7, "arguments": 8}}]}}]},
    {"error": 7},
    {"error": {"message": 7}},
    {"error": {"message": "sorry", "code": 429}},
    {"type": 7},
    {"type": "message_start"},
    {"type": "message_start", "message": 7},
    {"type": "content_block_start", "index": "x", "content_block": 7},
    {"type": "content_block_delta", "index": 9, "delta": {"type": "input_json_delta", "partial_json": 7}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 7}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": 7, "name": 8, "input": 9}},
    {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
]


async def test_garbage_in_a_stream_is_a_failure_and_nothing_else(raw: RawProvider) -> None:
    """Whatever is wrong, only `ModelFailed` comes out, or the odd piece is passed over; `asked` sees to it."""
    models = raw.models()
    for odd in ODD:
        for before in (b"", begin(raw.kind)):
            raw.script = said(STREAM, before, event(raw.kind, odd), b": done\n\n")
            answer = await asked(models, "raw:m")
            assert answer.failed is not None, odd
            assert answer.calls == []
            assert len(answer.failed.message) < 400


async def test_an_error_inside_a_stream_is_told_as_what_it_is(raw: RawProvider) -> None:
    told = {"type": "error", "error": {"type": "overloaded_error", "code": "overloaded", "message": "busy"}}
    raw.script = said(STREAM, begin(raw.kind), words(raw.kind, "I "), event(raw.kind, told))
    answer = await asked(raw.models(), "raw:m")
    assert answer.failed is not None
    assert (answer.failed.fault, answer.text) == ("rate_limited", "I ")


async def test_a_stream_without_end_is_ended(raw: RawProvider) -> None:
    async def script(line: Line) -> None:
        more = words(line.kind, "more ") * 50
        await line.send(STREAM, begin(line.kind))
        while await line.send(more):
            pass

    raw.script = script
    answer = await asked(raw.models(most_bytes=20_000), "raw:m")
    assert answer.failed is not None
    assert answer.failed.fault == "bad_answer"
    assert answer.text.startswith("more more ")
    async with asyncio.timeout(PATIENCE):
        await raw.left.wait()


async def test_a_call_without_end_and_a_line_without_end_are_ended(raw: RawProvider) -> None:
    async def of_a_call(line: Line) -> None:
        await line.send(STREAM, begin(line.kind))
        while await line.send(call(line.kind, 0, "a", "data_list", "1234567890" * 100)):
            pass

    async def of_a_line(line: Line) -> None:
        await line.send(STREAM, b"data: ")
        while await line.send(b"x" * 65_536):
            pass

    for script in (of_a_call, of_a_line):
        raw.script = script
        answer = await asked(raw.models(most_bytes=200_000), "raw:m")
        assert answer.failed is not None
        assert answer.failed.fault == "bad_answer"
        assert answer.calls == []


@pytest.mark.parametrize("way", ["closed", "cancelled"])
async def test_giving_up_ends_the_request_at_once(raw: RawProvider, way: str) -> None:
    async def script(line: Line) -> None:
        await line.send(STREAM, begin(line.kind), words(line.kind, "Well"))
        await line.hung_up()

    raw.script = script
    answer = raw.models().find("raw:m").answer(PROMPT)
    assert await anext(answer) == TextPiece("Well")
    if way == "closed":
        await answer.aclose()  # type: ignore[attr-defined]
    else:
        waiting = asyncio.ensure_future(anext(answer))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(PATIENCE):
        await raw.left.wait()


async def test_calls_come_whole_and_their_arguments_unread(raw: RawProvider) -> None:
    kind = raw.kind
    raw.script = said(
        STREAM,
        begin(kind),
        words(kind, "Let me see."),
        call(kind, 0, "one", "data_list", '{"collection"', ': "rooms"}'),
        call(kind, 1, "one", "no such tool", '{"broken": '),
        call(kind, 2, "three", "ai_report"),
        end(kind, called=True),
    )
    answer = await asked(raw.models(), "raw:m")
    assert answer.failed is None
    assert answer.text == "Let me see."
    assert [(one.name, one.arguments) for one in answer.calls] == [
        ("data_list", '{"collection": "rooms"}'),
        ("no such tool", '{"broken": '),
        ("ai_report", ""),
    ]
    assert len({one.id for one in answer.calls}) == 3, "results find their way by it"


async def test_nothing_secret_and_nothing_said_reaches_the_log(
    raw: RawProvider, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("", "openai", "anthropic", "httpx2"):
        caplog.set_level(logging.DEBUG, name)
    raw.script = status(401, {"error": {"message": KEY}})
    await asked(raw.models(), "raw:m")
    assert KEY not in caplog.text
    assert "Hello?" not in caplog.text


async def test_the_key_goes_to_its_provider_and_nothing_else_does(
    raw: RawProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the libraries would add of their own accord, facts of this machine and of the environment, stays here."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "not-for-this-provider")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Other: not-for-this-provider")
    await asked(raw.models(), "raw:m")
    (heard,) = raw.heard
    assert "not-for-this-provider" not in json.dumps(heard)
    assert [value for value in heard.headers.values() if KEY in value] == [f"Bearer {KEY}"]
    assert re.fullmatch(r"doorward/\S+", heard.headers["user-agent"])
    assert not [name for name in heard.headers if name.startswith("x-")]


async def test_the_makers_themselves_are_asked_in_the_newest_way(
    raw: RawProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenAI's own newer models refuse the older name for the length of an answer, which others know."""
    monkeypatch.setitem(provider._ADDRESSES, raw.kind, raw.url)
    monkeypatch.setenv("OPENAI_ORG_ID", "our-account")
    models = ModelRegistry(Limits(), {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY})
    assert (await asked(models, f"{raw.kind}:m")).text == "Hi."
    (heard,) = raw.heard
    length = "max_completion_tokens" if raw.kind == "openai" else "max_tokens"
    assert heard.body[length] == PROMPT.most_tokens
    assert (heard.headers.get("openai-organization") == "our-account") is (raw.kind == "openai")


async def test_what_a_model_thinks_is_not_said(raw: RawProvider) -> None:
    kind = raw.kind
    if kind == "openai":
        thinking = (
            event(kind, chunk({"reasoning_content": "I plan."})) + words(kind, "<think>") + words(kind, "I plot.")
        )
        thinking += words(kind, "</think>")
    else:
        delta = {"type": "thinking_delta", "thinking": "I plan."}
        block = {"type": "thinking", "thinking": "", "signature": ""}
        thinking = event(kind, {"type": "content_block_start", "index": 5, "content_block": block})
        thinking += event(kind, {"type": "content_block_delta", "index": 5, "delta": delta})
    raw.script = said(STREAM, begin(kind), thinking, words(kind, "Hi."), end(kind))
    assert (await asked(raw.models(), "raw:m")).text.strip() == "Hi."
