"""What answers where a model cannot be asked: another, which is said, or none."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from wire_servers import KEY, aimock, fakellm

from doorward.agents.models.registry import ModelRegistry
from doorward.agents.personas.dispatcher import PersonaDispatcher, run_personas
from doorward.config.settings import KeeperSettings, ProviderSettings, Settings
from doorward.config.settings import ModelSettings as Limits
from doorward.rooms.message import Card, Message
from settling import settled

pytestmark = pytest.mark.anyio
DOWN = "http://127.0.0.1:9/v1"
NEAR = {
    "gone": ProviderSettings(base_url=DOWN, needs_key=False),
    "other": ProviderSettings(base_url=DOWN, needs_key=False),
}
FAR = {"far": ProviderSettings(base_url="https://models.example/v1")}
STOOD_IN = "gone:small is not available, so the house model answered instead: "


class Room:
    def __init__(self, driver: Any, company: PersonaDispatcher) -> None:
        self._services = driver.house.services
        self._driver = driver
        self._company = company

    async def say(self, text: str) -> list[Message]:
        """What personas said to this."""
        before = {one.id for one in await self._messages()}
        await self._driver.owner("room/say", text=text, name="general")
        await settled(self._company)
        return [one for one in await self._messages() if one.id not in before][1:]

    async def _messages(self) -> list[Message]:
        return (await self._services.messages.newest(self._services.rooms.require("local", "general"), 50))[::-1]


@contextlib.asynccontextmanager
async def room(
    opened: Callable[..., contextlib.AbstractAsyncContextManager[Any]], models: Limits, model: str
) -> AsyncIterator[Room]:
    async with opened(changes=Settings(models=models)) as driver:
        body = {"personaId": "ada", "displayName": "Ada", "rooms": ["general"], "model": model}
        await driver.owner("persona/put", id="ada", text=json.dumps(body))
        async with run_personas(
            driver.house.gate, driver.house.services, driver.house.models, driver.house.effort
        ) as company:
            yield Room(driver, company)


def shown(messages: list[Message]) -> tuple[str, list[tuple[str, str]]]:
    cards = [part for one in messages for part in one.attachments if isinstance(part, Card)]
    return "\n".join(one.text for one in messages if one.text), [(one.command, one.state) for one in cards]


async def test_a_persona_says_that_another_model_stands_in_before_anything_runs(opened: Any) -> None:
    async with room(opened, Limits(providers=NEAR), "gone:small") as talking:
        heard = await talking.say("@ada how many rooms do we have?")
        again = await talking.say("@ada how many rooms do we have?")
    words, calls = shown(heard)
    assert heard[0].text.startswith(f"({STOOD_IN}The provider of gone:small cannot be reached")
    assert words.count("answered instead") == 1, "it is said once in a turn"
    assert calls, "the house model works as it always does"
    assert {state for _, state in calls} == {"done"}
    assert "answered instead" in again[0].text, "and in every turn"


async def test_without_a_fallback_a_persona_says_that_it_cannot_answer(opened: Any) -> None:
    async with room(opened, Limits(providers=NEAR, fallback=""), "gone:small") as talking:
        words, calls = shown(await talking.say("@ada how many rooms do we have?"))
    assert words.startswith("I cannot answer: The provider of gone:small cannot be reached")
    assert not calls


async def test_a_fallback_that_fails_as_well_is_said_with_both_reasons(opened: Any) -> None:
    async with room(opened, Limits(providers=NEAR, fallback="other:one"), "gone:small") as talking:
        words, calls = shown(await talking.say("@ada how many rooms do we have?"))
    assert words.startswith("I cannot answer: The provider of gone:small cannot be reached")
    assert "Its fallback other:one failed as well: The provider of other:one cannot be reached" in words
    assert not calls


FIXTURES: list[dict[str, Any]] = [
    {
        "match": {"userMessage": "count the rooms", "hasToolResult": False},
        "response": {"toolCalls": [{"name": "data_list", "arguments": '{"collection": "rooms"}'}]},
    },
    {
        "match": {"userMessage": "count the rooms", "hasToolResult": True},
        "response": {"error": {"message": "It broke", "type": "server_error"}, "status": 500},
    },
    {
        "match": {"userMessage": "and the rooms of ours", "hasToolResult": False},
        "response": {
            "toolCalls": [
                {"name": "run_command", "arguments": '{"command": "data/list", "params": {"collection": "rooms"}}'}
            ]
        },
    },
    {
        "match": {"userMessage": "and the rooms of ours", "hasToolResult": True},
        "response": {"content": "There is one room."},
    },
    {
        "match": {"userMessage": "how many rooms do we have"},
        "response": {"error": {"message": "Used up", "type": "insufficient_quota"}, "status": 401},
    },
]


@pytest.fixture(scope="module")
def mocked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with aimock(tmp_path_factory.mktemp("aimock"), FIXTURES) as address:
        yield address


async def test_nothing_stands_in_once_a_turn_has_run_a_command(
    opened: Any, mocked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIRE_KEY", KEY)
    providers = {"o": ProviderSettings(base_url=f"{mocked}/v1", key_env="WIRE_KEY")}
    async with room(opened, Limits(providers=providers), "o:gpt-4o-mini") as talking:
        words, calls = shown(await talking.say("@ada count the rooms"))
    assert calls == [("data/list", "done")]
    assert words.startswith("I cannot answer: ")
    assert "answered instead" not in words


@pytest.mark.parametrize("named", ["", "gpt-6"])
async def test_the_keeper_thinks_with_the_model_of_the_environment_over_the_wire_and_the_house_stands_in(
    opened: Any, mocked: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("USHELL_LLM_MODEL", named)
    providers = {"openai": ProviderSettings(base_url=f"{mocked}/v1")}
    async with opened(changes=Settings(models=Limits(providers=providers))) as driver:
        asked = (await driver.owner("agent/ask", prompt="and the rooms of ours")).result
        failing = (await driver.owner("agent/ask", prompt="how many rooms do we have")).result
        by_name = await driver.ask(
            "agent/ask", by="", room="", params={"prompt": "how many rooms do we have", "model": "openai"}
        )
    model = f"openai:{named or 'gpt-4o-mini'}"
    assert (asked["response"], asked["model"], asked["notes"]) == ("There is one room.", model, [])
    assert [one["status"] for one in asked["toolCalls"]] == ["done"]
    assert (failing["success"], failing["model"]) == (True, "house")
    assert failing["notes"][0].startswith(f"{model} is not available, so the house model answered instead: ")
    assert KEY not in json.dumps([asked, failing, by_name.result])
    assert by_name.result["ended"] == "model_failed", "what is asked for by name is not replaced"


@pytest.fixture(scope="module")
def faked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    call = {"name": "run_command", "arguments": {"command": "data/list", "params": {"collection": "rooms"}}}
    rules = [
        {"name": "then", "when": {"tool_result_contains": "data/list: done"}, "respond": {"content": "One: general."}},
        {"name": "first", "when": {"messages_contain": "which rooms"}, "respond": {"tool_calls": [call]}},
    ]
    with fakellm(tmp_path_factory.mktemp("fakellm"), rules) as address:
        yield address


@pytest.mark.parametrize(("kind", "path"), [("openai", "/v1"), ("anthropic", "")])
async def test_the_keeper_works_on_both_wires_of_another_server_too(
    opened: Any, faked: str, kind: Any, path: str
) -> None:
    providers = {"fake": ProviderSettings(kind=kind, base_url=f"{faked}{path}", needs_key=False)}
    models = Limits(providers=providers, tiers={"cheap": "fake:small"})
    async with opened(changes=Settings(models=models, keeper=KeeperSettings(model="cheap"))) as driver:
        answer = (await driver.owner("agent/ask", prompt=f"which rooms are there, {kind}?")).result
    assert (answer["response"], answer["model"]) == ("One: general.", "fake:small")
    assert [(one["input"]["command"], one["status"]) for one in answer["toolCalls"]] == [("data/list", "done")]


async def test_the_keeper_without_a_fallback_says_why_it_did_nothing(opened: Any) -> None:
    models = Limits(providers=NEAR, fallback="")
    async with opened(changes=Settings(models=models, keeper=KeeperSettings(model="gone:small"))) as driver:
        outcome = await driver.ask("agent/ask", by="", room="", params={"prompt": "how many rooms do we have"})
    assert outcome.result["ended"] == "model_failed"
    assert "cannot be reached" in outcome.result["error"]
    assert not outcome.result["toolCalls"]


@pytest.mark.parametrize(
    ("fallback", "name", "stands_in"),
    [
        ("house", "gone:small", "house"),
        ("house", "nobody:none", "house"),
        ("house", "house", ""),
        ("house", "cheap", ""),
        ("cheap", "far:big", "house"),
        ("", "gone:small", ""),
        ("gone:small", "gone:small", ""),
        ("gone:small", "far:big", "gone:small"),
        ("far:big", "gone:small", ""),
        ("far:big", "local:tiny", ""),
        ("far:big", "far:other", "far:big"),
        ("nobody:none", "gone:small", ""),
    ],
)
def test_who_stands_in_for_whom_and_nothing_leaves_this_machine_for_it(
    fallback: str, name: str, stands_in: str
) -> None:
    models = ModelRegistry(
        Limits(fallback=fallback, providers={**NEAR, **FAR}, tiers={"cheap": "house"}), {"FAR_API_KEY": KEY}
    )
    found = models.instead_of(name)
    assert (found.name if found is not None else "") == stands_in
