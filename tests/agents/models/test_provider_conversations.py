"""Personas in a room that think with providers, on both wires: real house, real gate, servers that we did not write."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2
import pytest
from wire_servers import KEY, aimock

from doorward.agents.personas.dispatcher import PersonaDispatcher, run_personas
from doorward.config.settings import ModelSettings, ProviderSettings, Settings
from doorward.rooms.message import Card, Message
from settling import settled

pytestmark = pytest.mark.anyio

PERSONAS = {"otto": "o:gpt-4o-mini", "clara": "a:claude-haiku-4-5"}
FIXTURES: list[dict[str, Any]] = [
    {
        "match": {"userMessage": "count the rooms", "hasToolResult": False},
        "response": {
            "content": "I look.",
            "toolCalls": [
                {"name": "data_list", "arguments": '{"collection": "rooms"}'},
                {"name": "no_such_tool", "arguments": "{}"},
            ],
        },
    },
    {"match": {"userMessage": "count the rooms", "hasToolResult": True}, "response": {"content": "There is one room."}},
    {
        "match": {"userMessage": "keeper, how many rooms", "hasToolResult": False},
        "response": {
            "toolCalls": [
                {"name": "run_command", "arguments": '{"command": "data/list", "params": {"collection": "rooms"}}'}
            ],
        },
    },
    {
        "match": {"userMessage": "keeper, how many rooms", "hasToolResult": True},
        "response": {"content": "There is one room."},
    },
    {
        "match": {"userMessage": "wait for it"},
        "response": {"error": {"message": "Too often", "type": "rate_limit_error"}, "status": 429, "retryAfter": 600},
    },
    {
        "match": {"userMessage": "break off"},
        "response": {"toolCalls": [{"name": "data_list", "arguments": '{"collection": "rooms"}'}]},
        "truncateAfterChunks": 3,
    },
]


@pytest.fixture(scope="module")
def mocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with aimock(tmp_path_factory.mktemp("aimock"), FIXTURES) as address:
        yield address


class Talking:
    def __init__(self, driver: Any, company: PersonaDispatcher) -> None:
        self.driver = driver
        self._company = company

    async def say(self, text: str) -> list[Message]:
        """What was said in the room from this message on."""
        before = {one.id for one in await self._messages()}
        await self.driver.owner("room/say", text=text, name="general")
        await settled(self._company)
        return [one for one in await self._messages() if one.id not in before][1:]

    async def _messages(self) -> list[Message]:
        services = self.driver.house.services
        return (await services.messages.newest(services.rooms.require("local", "general"), 100))[::-1]


@pytest.fixture
async def talking(
    opened: Callable[..., contextlib.AbstractAsyncContextManager[Any]], mocked: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Talking]:
    monkeypatch.setenv("WIRE_KEY", KEY)
    providers = {
        "o": ProviderSettings(kind="openai", base_url=f"{mocked}/v1", key_env="WIRE_KEY"),
        "a": ProviderSettings(kind="anthropic", base_url=mocked, key_env="WIRE_KEY"),
    }
    async with opened(changes=Settings(models=ModelSettings(providers=providers, fallback=""))) as driver:
        house = driver.house
        for id, model in PERSONAS.items():
            body = {"personaId": id, "displayName": id.title(), "rooms": ["general"], "model": model}
            await driver.owner("persona/put", id=id, text=json.dumps(body))
        async with run_personas(house.gate, house.services, house.models, house.effort) as company:
            yield Talking(driver, company)


@pytest.mark.parametrize("persona", PERSONAS)
async def test_a_persona_runs_a_command_and_answers_from_its_result(
    talking: Talking, mocked: str, persona: str
) -> None:
    heard = await talking.say(f"@{persona} count the rooms")
    assert {one.sender for one in heard} == {persona}
    assert heard[-1].text == "There is one room."
    cards = [part for one in heard for part in one.attachments if isinstance(part, Card)]
    assert ("data/list", "done") in [(one.command, one.state) for one in cards]
    records = [one for one in await talking.driver.ledger() if one["caller"] == persona]
    assert [(one["command"], one["door"], one["status"]) for one in records] == [
        ("data/list", "chat", "done"),
        ("no_such_tool", "chat", "refused"),
    ]
    async with httpx2.AsyncClient(trust_env=False, headers={"Authorization": f"Bearer {KEY}"}) as http:
        journal = json.dumps((await http.get(f"{mocked}/__aimock/journal")).json()[-1])
    assert "general" in journal, "the result of the command reached the provider"
    assert "no_such_tool" in journal, "and so did the refusal of what is no command"


@pytest.mark.parametrize("persona", PERSONAS)
async def test_a_provider_that_fails_is_told_to_the_room_and_nothing_runs(talking: Talking, persona: str) -> None:
    for words, reason in (("wait for it", "rate limiting requests"), ("break off", "try again in 60 seconds")):
        heard = await talking.say(f"@{persona} {words}")
        assert heard[-1].sender == persona
        assert reason in heard[-1].text
        assert KEY not in heard[-1].text
    assert not [one for one in await talking.driver.ledger() if one["caller"] == persona]


@pytest.mark.parametrize("persona", PERSONAS)
async def test_an_answer_that_breaks_off_runs_nothing(talking: Talking, persona: str) -> None:
    heard = await talking.say(f"@{persona} break off")
    assert "was lost" in heard[-1].text
    assert not [one for one in await talking.driver.ledger() if one["caller"] == persona]


@pytest.mark.parametrize("model", PERSONAS.values())
async def test_the_keeper_runs_a_command_and_answers_from_its_result(talking: Talking, model: str) -> None:
    params = {"prompt": "keeper, how many rooms", "model": model}
    answer = (await talking.driver.ask("agent/ask", by="", room="", params=params)).result
    assert answer["success"]
    assert (answer["response"], answer["model"], answer["notes"]) == ("There is one room.", model, [])
    assert [one["input"]["command"] for one in answer["toolCalls"]] == ["data/list"]
