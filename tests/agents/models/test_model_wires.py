"""Answers, calls and faults of wire servers that we did not write, on both wires."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from raw_provider import asked
from wire_servers import KEY, aimock, fakellm, models_at

from doorward.agents.models.model import ChatTurn, NativeCall, Prompt, ToolSpec
from doorward.agents.models.registry import ModelRegistry
from doorward.config.settings import ModelSettings as Limits
from doorward.config.settings import ProviderSettings

pytestmark = pytest.mark.anyio

WIRES = ("o:gpt-4o-mini", "a:claude-haiku-4-5")
LONG = "This answer comes in many pieces, and every one of them arrives in the order in which it was sent. "
TOOLS = (
    ToolSpec(
        "data_list",
        "List the records of a collection.",
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"collection": {"type": "string", "minLength": 1}, "limit": {"type": ["integer", "null"]}},
            "required": ["collection"],
            "additionalProperties": False,
        },
    ),
    ToolSpec("ai_report", "What the AIs did.", {"type": "object", "properties": {}}),
)
CALLS = [
    {"name": "data_list", "arguments": json.dumps({"collection": "rooms", "limit": 3})},
    {"name": "ai_report", "arguments": "{}"},
]


def fixture(says: str, response: Any, **more: Any) -> dict[str, Any]:
    match = {"userMessage": says, **more.pop("match", {})}
    return {"match": match, "response": response, **more}


FIXTURES = [
    fixture("tell me all", {"content": LONG}),
    fixture("count the rooms", {"content": "I look.", "toolCalls": CALLS}, match={"hasToolResult": False}),
    fixture("count the rooms", {"content": "There are two rooms."}, match={"hasToolResult": True}),
    fixture(
        "too often", {"error": {"message": "Too often", "type": "rate_limit_error"}, "status": 429, "retryAfter": 9}
    ),
    fixture("too much", {"error": {"message": "Overloaded", "type": "overloaded_error"}, "status": 529}),
    fixture("break down", {"error": {"message": "Oops", "type": "server_error"}, "status": 500}),
    fixture("cut it", {"content": LONG}, truncateAfterChunks=4),
    fixture("be slow", {"content": LONG}, latency=30_000),
    fixture("be garbled", {"content": LONG}, chaos={"malformedRate": 1}),
    fixture("hang up", {"content": LONG}, chaos={"disconnectRate": 1}),
]


def prompt(says: str, *more: ChatTurn) -> Prompt:
    return Prompt(
        instructions="You are guide.", turns=(ChatTurn(role="user", text=says, speaker="joel"), *more), tools=TOOLS
    )


@pytest.fixture(scope="module")
def mocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with aimock(tmp_path_factory.mktemp("aimock"), FIXTURES) as address:
        yield address


@pytest.fixture(scope="module")
def faked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    rules = [
        {
            "name": "calls",
            "when": {"tool_result_contains": "Found 2 items"},
            "respond": {"content": "There are two rooms."},
        },
        {
            "name": "first",
            "when": {"messages_contain": "count the rooms"},
            "respond": {"tool_calls": [{**one, "arguments": json.loads(one["arguments"])} for one in CALLS]},
        },
        {"name": "words", "when": {"messages_contain": "tell me all"}, "respond": {"content": LONG.strip()}},
    ]
    with fakellm(tmp_path_factory.mktemp("fakellm"), rules) as address:
        yield address


@pytest.fixture(params=["aimock", "fakellm"])
def address(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("mocked" if request.param == "aimock" else "faked"))


@pytest.mark.parametrize("name", WIRES)
async def test_text_streams_whole_and_in_order(address: str, name: str) -> None:
    answer = await asked(models_at(address), name, prompt("tell me all"))
    assert answer.failed is None
    assert answer.text.strip() == LONG.strip()


@pytest.mark.parametrize("name", WIRES)
async def test_several_native_calls_and_then_an_answer_from_their_results(address: str, name: str) -> None:
    models, says = models_at(address), f"count the rooms, {name}"
    first = await asked(models, name, prompt(says))
    assert first.failed is None
    assert [one.name for one in first.calls] == ["data_list", "ai_report"]
    assert [json.loads(one.arguments) for one in first.calls] == [{"collection": "rooms", "limit": 3}, {}]
    rooms, report = first.calls
    second = await asked(
        models,
        name,
        prompt(
            says,
            ChatTurn(role="assistant", text=first.text, calls=(rooms, report)),
            ChatTurn(role="result", text="Nothing to report.", answers=report.id, tool=report.name),
            ChatTurn(role="result", text="Found 2 items: den, lab", answers=rooms.id, tool=rooms.name),
        ),
    )
    assert (second.failed, second.text, second.calls) == (None, "There are two rooms.", [])


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize(
    ("says", "fault"),
    [
        ("too often", "rate_limited"),
        ("too much", "rate_limited"),
        ("break down", "down"),
        ("be garbled", "bad_answer"),
        ("hang up", "cut"),
        ("cut it", "cut"),
    ],
)
async def test_what_goes_wrong_there_is_told_here(mocked: str, name: str, says: str, fault: str) -> None:
    answer = await asked(models_at(mocked), name, prompt(says))
    assert answer.failed is not None
    assert answer.failed.fault == fault
    assert answer.calls == []
    if says == "too often":
        assert answer.failed.retry_after == 9
    if says == "cut it":
        assert LONG.startswith(answer.text)


@pytest.mark.parametrize("name", WIRES)
async def test_a_slow_one_is_not_waited_for(mocked: str, name: str) -> None:
    answer = await asked(models_at(mocked, first_seconds=0.05, piece_seconds=0.05), name, prompt("be slow"))
    assert answer.failed is not None
    assert answer.failed.fault == "slow"


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_wrong_key_is_not_allowed(mocked: str, kind: Any) -> None:
    at = f"{mocked}/v1" if kind == "openai" else mocked
    models = ModelRegistry(Limits(providers={"x": ProviderSettings(kind=kind, base_url=at)}), {"X_API_KEY": "wrong"})
    answer = await asked(models, "x:m", prompt("tell me all"))
    assert answer.failed is not None
    assert answer.failed.fault == "not_allowed"
    assert "does not accept the key" in answer.failed.message


async def test_what_it_wrote_down_is_what_we_meant(mocked: str) -> None:
    """The conversation as the server itself kept it, which is the word of somebody else on what we sent."""
    said = prompt(
        "count the rooms once more",
        ChatTurn(role="assistant", text="I look.", calls=(NativeCall("x", "data_list", '{"collection": "rooms"}'),)),
        ChatTurn(role="result", text="Found 2 items: den, lab", answers="x", tool="data_list"),
    )
    assert (await asked(models_at(mocked), WIRES[0], said)).text == "There are two rooms."
    async with httpx2.AsyncClient(trust_env=False, headers={"Authorization": f"Bearer {KEY}"}) as http:
        journal = (await http.get(f"{mocked}/__aimock/journal")).json()
    whole = next(one["body"] for one in journal if "once more" in json.dumps(one["body"]))
    assert [one["role"] for one in whole["messages"]] == ["system", "user", "assistant", "tool"]
    assert whole["messages"][1]["content"] == "joel: count the rooms once more"
    assert whole["messages"][3]["tool_call_id"] == whole["messages"][2]["tool_calls"][0]["id"]
    assert whole["messages"][3]["content"] == "Found 2 items: den, lab"
    schema = whole["tools"][0]["function"]["parameters"]
    assert schema == {key: value for key, value in TOOLS[0].schema.items() if key != "$schema"}
