"""A house whose personas think with a model that says what a test tells it to."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

from doorward.agents.models.model import AnswerPiece, Model, ModelFailed, NativeCall, Prompt, TextPiece
from doorward.agents.personas.dispatcher import PersonaDispatcher, run_personas
from doorward.core.model import Outcome
from doorward.rooms.message import Card, Message
from doorward.rooms.rooms import Room
from settling import settled

Line = str | list[AnswerPiece | Exception] | Callable[[Prompt], AsyncGenerator[AnswerPiece, None]]


class Scripted:
    """A model that gives its answers one after the other, and remembers what it was shown."""

    name = "scripted"

    def __init__(self, *answers: Line) -> None:
        self.answers = list(answers)
        self.shown: list[Prompt] = []

    async def answer(self, prompt: Prompt) -> AsyncIterator[AnswerPiece]:
        self.shown.append(prompt)
        line: Line = self.answers.pop(0) if self.answers else "That is all."
        if isinstance(line, str):
            line = [TextPiece(line)]
        if isinstance(line, list):
            for piece in line:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
            return
        async with contextlib.aclosing(line(prompt)) as pieces:
            async for piece in pieces:
                yield piece

    def count(self, text: str) -> int:
        return len(text) // 4 + 1

    def find(self, name: str) -> Model:
        if name == "missing":
            raise ModelFailed("unknown", "There is no model 'missing'; valid: house.")
        return self

    def instead_of(self, name: str) -> Model | None:
        """Nothing stands in: these tests are about the model itself."""
        return None


def asked(tool: str, id: str, **arguments: Any) -> NativeCall:
    return NativeCall(id, tool, json.dumps(arguments))


class Speaking:
    """People and personas in the rooms of one house."""

    def __init__(self, driver: Any, company: PersonaDispatcher, model: Scripted) -> None:
        self.driver = driver
        self.house = driver.house
        self.company = company
        self.model = model
        self.greeting: list[str] = []
        """What the guide said before anybody else."""

    @property
    def room(self) -> Room:
        return self.house.services.rooms.require("local", "general")

    async def say(self, text: str, *, name: str = "general") -> None:
        """The owner says something, and everybody who wants to answer has done so."""
        await self.driver.owner("room/say", text=text, name=name)
        await settled(self.company)

    async def persona(self, id: str, **fields: Any) -> None:
        body = {"personaId": id, "displayName": id.title(), "rooms": ["general"], "model": "scripted", **fields}
        await self.driver.owner("persona/put", id=id, text=json.dumps(body))

    async def recipe(self, **commands: Any) -> None:
        """Give the room other rules."""
        pattern = commands.pop("pattern", "")
        strategy = {"aiCommands": {"enabled": True, "whitelist": ["data/*", "file/*", "help/*"], **commands}}
        if pattern:
            strategy["conversationPattern"] = pattern
        text = json.dumps({"recipeId": "trial", "displayName": "Trial", "strategy": strategy})
        await self.driver.owner("recipe/put", id="trial", text=text)
        if self.room.recipe != "trial":
            await self.driver.owner("room/recipe", name="general", recipe="trial")

    async def messages(self, name: str = "general") -> list[Message]:
        room = self.house.services.rooms.require("local", name)
        return (await self.house.services.messages.newest(room, 500))[::-1]

    async def said(self, by: str = "") -> list[str]:
        """What was said, without the cards of calls; by one of them, or by everybody."""
        return [one.text for one in await self.messages() if one.text and by in ("", one.sender)]

    async def cards(self) -> list[Card]:
        return [part for one in await self.messages() for part in one.attachments if isinstance(part, Card)]

    async def decide(self, verdict: str, **answer: str) -> Outcome:
        waiting = (await self.driver.owner("approval/list")).result["items"]
        pending = [one for one in waiting if one["state"] == "pending"]
        outcome = await self.driver.owner(f"approval/{verdict}", id=pending[-1]["id"], **answer)
        await settled(self.company)
        return outcome

    async def records(self) -> list[dict[str, Any]]:
        """The records of calls that personas made."""
        return [one for one in await self.driver.ledger() if one["door"] == "chat"]


@contextlib.asynccontextmanager
async def speaking(driver: Any, *answers: Line) -> AsyncIterator[Speaking]:
    """The guide thinks with a script, and has said its greeting before."""
    model = Scripted(*answers)
    services = driver.house.services
    async with run_personas(driver.house.gate, services, model, driver.house.effort) as company:
        house = Speaking(driver, company, model)
        house.greeting = await house.said("guide")
        yield house
