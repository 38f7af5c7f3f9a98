"""Answers that are constrained to a JSON schema: by a real library, and by providers that refuse or ignore it."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import tiny_gguf
from raw_provider import PROMPT, TOOL, Line, answers, asked, raw_provider, status

from doorward.agents.models.answer_shape import NotShaped, build_shape, parse_shaped
from doorward.agents.models.local import LocalModel
from doorward.agents.models.model import ChatTurn, ModelFailed, NativeCall, Prompt, TextPiece, TokenUsage, ToolSpec
from doorward.agents.tool_descriptions import describe_tool
from doorward.commands.families import build_registry
from doorward.config.settings import LocalModelSettings
from doorward.config.settings import ModelSettings as Limits

pytestmark = pytest.mark.anyio
SHAPE = build_shape([TOOL])
SHAPED = msgspec.structs.replace(PROMPT, shape=SHAPE)
CALL = '{"name": "data_list", "arguments": {"collection": "rooms"}}'


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def model(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalModel]:
    """A real model that is far too small to know any format, and that varies its words."""
    file = tiny_gguf.write(tmp_path_factory.mktemp("models") / "tiny.gguf")
    made = LocalModel("tiny", LocalModelSettings(file=str(file), threads=1, context=8_192, temperature=2), Limits())
    yield made
    await made.close()


def shaped(tools: list[ToolSpec], **more: Any) -> Prompt:
    turns = (ChatTurn(role="user", text="List the rooms.", speaker="me"),)
    shape = build_shape(tools, answer_characters=40)
    return Prompt(instructions="", turns=turns, tools=tuple(tools), shape=shape, **more)


async def test_every_constrained_answer_of_a_real_model_is_a_valid_call_or_words(model: LocalModel) -> None:
    chosen = {"type": "object", "properties": {"collection": {"enum": ["rooms", "users"]}}, "required": ["collection"]}
    number = {"type": "object", "properties": {"limit": {"type": "boolean"}}, "required": ["limit"]}
    prompt = shaped([ToolSpec("data_list", "", chosen), ToolSpec("data_page", "", number)], most_tokens=1_000)
    for _ in range(20):
        first, *rest = [piece async for piece in model.answer(prompt)]
        assert all(isinstance(piece, TokenUsage) for piece in rest)
        if isinstance(first, NativeCall):
            wanted = chosen if first.name == "data_list" else number
            assert first.name in ("data_list", "data_page")
            assert jsonschema_rs.is_valid(wanted, json.loads(first.arguments))
        else:
            assert isinstance(first, TextPiece)
    assert model.constrains


async def test_the_library_takes_the_shape_of_every_command(model: LocalModel) -> None:
    tools = [describe_tool(one, None) for one in build_registry(())]
    assert len(tools) > 100
    for start in range(0, len(tools), 20):
        prompt = shaped(tools[start : start + 20], most_tokens=2)
        with contextlib.suppress(ModelFailed):  # it breaks off, as it must with two tokens
            async for _ in model.answer(prompt):
                pass
        assert model.constrains, f"{[one.name for one in prompt.tools]} were refused"


async def test_a_provider_gets_the_schema_instead_of_tools_and_its_text_becomes_a_call() -> None:
    async with raw_provider("openai") as provider:
        models = provider.models()
        provider.script = answers(CALL[:20], CALL[20:])
        got = await asked(models, "raw:m", SHAPED)
        assert got.text == ""
        assert got.calls == [NativeCall("call-1", "data_list", '{"collection":"rooms"}', in_text=True)]
        provider.script = answers('{"answer": "Two ', 'r\\u00f6oms."}')
        turns = (*SHAPED.turns, ChatTurn(role="assistant", text="", calls=tuple(got.calls)))
        result = ChatTurn(role="result", text="data/list: done.", answers="call-1", tool="data_list")
        got = await asked(models, "raw:m", msgspec.structs.replace(SHAPED, turns=(*turns, result)))
        assert (got.text, got.calls) == ("Two röoms.", [])
        first, second = (one.body for one in provider.heard)
        assert first["response_format"]["json_schema"]["schema"] == SHAPE
        assert "tools" not in first
        assert [one["content"] for one in second["messages"] if one["role"] == "assistant"] == [CALL]


@pytest.mark.parametrize("way", ["refuses", "ignores"])
async def test_a_provider_without_constraints_is_used_without_and_that_is_logged_once(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with raw_provider("openai") as provider:

        async def script(line: Line) -> None:
            refuses = way == "refuses" and "response_format" in provider.heard[-1].body
            await (status(400, {"error": {"message": "no response_format"}}) if refuses else answers("Hi."))(line)

        provider.script = script
        models = provider.models()
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                got = await asked(models, "raw:m", SHAPED)
                assert (got.text, got.failed) == ("Hi.", None)
        constrained = ["response_format" in one.body for one in provider.heard]
        assert constrained == ([True, False, False, False] if way == "refuses" else [True, False, False])
        assert "tools" in provider.heard[-1].body
        assert [f"its provider {way} it" in line for line in caplog.messages] == [True]


async def test_a_request_that_is_wrong_in_itself_says_nothing_about_constraints() -> None:
    async with raw_provider("openai") as provider:
        provider.script = status(400, {"error": {"message": "no such thing"}})
        models = provider.models()
        got = await asked(models, "raw:m", SHAPED)
        assert got.failed is not None
        assert got.failed.fault == "bad_answer"
        provider.script = answers(CALL)
        assert (await asked(models, "raw:m", SHAPED)).calls


@pytest.mark.parametrize(
    ("kind", "more", "expected"),
    [("openai", {}, True), ("openai", {"constrain": "off"}, False), ("anthropic", {}, False)],
)
async def test_the_setting_decides_whether_the_schema_is_sent(kind: Any, more: dict[str, Any], expected: bool) -> None:
    async with raw_provider(kind) as provider:
        await asked(provider.models(**more), "raw:m", SHAPED)
        assert ("response_format" in provider.heard[0].body) is expected
        assert ("tools" in provider.heard[0].body) is not expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"answer": "There are 12 sa', "There are 12 sa"),
        ('{"answer": "a\\', "a"),
        ('{"answer": "a\\u00', "a"),
        ('{"answer": "a\\ud83d', "a"),
        (' {"answer":"a\\\\', "a\\"),
        ('{"answer": ""}', ""),
    ],
)
def test_words_that_break_off_are_read_as_far_as_they_go(text: str, words: str) -> None:
    assert parse_shaped(text, SHAPE) == TextPiece(words)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello",
        "[]",
        "{}",
        "null",
        CALL[:-1],
        CALL * 2,
        f"```json\n{CALL}\n```",
        CALL.replace("data_list", "data_drop"),
        CALL.replace("rooms", "rooms\x00").replace('"collection"', '"colection"'),
        '{"name": "data_list"}',
        '{"name": "data_list", "arguments": []}',
        '{"answer": 5}',
        '{"answer": "a", "name": "data_list", "arguments": {}}',
        '{"answer": "a", "answer": "b"}',
        '{"answer": "a" and more',
        "[" * 100_000,
    ],
)
def test_anything_else_is_not_an_answer_of_this_shape(text: str) -> None:
    with pytest.raises(NotShaped):
        parse_shaped(text, SHAPE)
