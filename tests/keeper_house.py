"""A house whose keeper thinks with a model that says what a test tells it to."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from doorward.agents.keeper.service import KeeperService
from doorward.agents.models.model import AnswerPiece, Model, ModelFailed, NativeCall, Prompt, TextPiece
from doorward.agents.models.registry import ModelRegistry
from doorward.app import House, open_house
from doorward.config.home import Home
from doorward.config.settings import KeeperSettings, Settings
from doorward.core.command import Family
from doorward.core.model import Credential, Outcome, Request
from doorward.gate.executions.notices import Notice, StepNotice

Line = str | list[AnswerPiece | Exception] | Callable[[Prompt], AsyncGenerator[AnswerPiece, None]]


class Script:
    """A model that gives its answers one after the other, and remembers what it was shown."""

    name = "scripted"

    def __init__(self, *answers: Line, again: Line | None = None) -> None:
        self.answers = list(answers)
        self.again = again
        """What it says whenever its answers are used up."""
        self.shown: list[Prompt] = []

    async def answer(self, prompt: Prompt) -> AsyncIterator[AnswerPiece]:
        self.shown.append(prompt)
        line: Line = self.answers.pop(0) if self.answers else self.again or "That is all."
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


class Minds:
    """Finds the script under its name, the house model under its own, and nothing else."""

    def __init__(self, house: House) -> None:
        self._house = ModelRegistry(house.settings.models, {})
        self.script = Script()

    def find(self, name: str) -> Model:
        if name == "scripted":
            return self.script
        if name == "house":
            return self._house.find(name)
        raise ModelFailed("unknown", f"There is no provider for the model {name[:80]!r}; valid: house, scripted.")

    def instead_of(self, name: str) -> Model | None:
        return None if name == "house" else self._house.find("house")


def call(tool: str, id: str = "1", **arguments: Any) -> NativeCall:
    return NativeCall(id, tool, json.dumps(arguments))


def run(command: str, id: str = "1", **params: Any) -> NativeCall:
    """A native call of run_command, of one command by its name."""
    return call("run_command", id, command=command, params=params)


class Kept:
    """One house and its keeper."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.minds = Minds(house)
        desk = house.services.keeper
        assert isinstance(desk, KeeperService)
        self._desk = desk
        self.think({})

    def think(self, environment: Mapping[str, str]) -> None:
        self.house.services.keeper = self._desk.with_models(self.minds, environment)

    def limits(self, **changes: Any) -> None:
        """Give the keeper other limits from here on; without any, those it came with."""
        settings = self.house.services.settings
        keeper = KeeperSettings(model="scripted", **changes)
        self.house.services.settings = msgspec.structs.replace(settings, keeper=keeper)

    def says(self, *answers: Line, again: Line | None = None) -> Script:
        self.minds.script = Script(*answers, again=again)
        return self.minds.script

    async def ask(
        self, prompt: str = "", *, by: str = "", room: str = "", token: str = "", watch: Any = None, **params: Any
    ) -> Outcome:
        """As the owner, outside rooms; `by` is an agent of the owner's."""
        credential = Credential(token=token) if token else Credential(owner=True, speak_as=by)
        given = {"prompt": prompt, **params} if prompt else params
        request = Request(command="agent/ask", credential=credential, door="test", room=room, params=given)
        return await self.house.gate.handle(request, watch)

    async def run(self, command: str, *, by: str = "", room: str = "", token: str = "", **params: Any) -> Outcome:
        credential = Credential(token=token) if token else Credential(owner=True, speak_as=by)
        request = Request(command=command, credential=credential, door="test", room=room, params=params)
        return await self.house.gate.handle(request)

    async def done(self, command: str, **params: Any) -> Any:
        """The result of a command of the owner's, which must be done."""
        outcome = await self.run(command, **params)
        assert outcome.status == "done", outcome
        return outcome.result

    async def records(self) -> list[dict[str, Any]]:
        return await self.house.services.store.read("SELECT * FROM ledger ORDER BY seq")


@contextlib.asynccontextmanager
async def kept(path: Path, families: Iterable[Family] = (), **settings: Any) -> AsyncIterator[Kept]:
    changes = Settings(keeper=KeeperSettings(model="scripted"), **settings)
    async with open_house(Home(path), changes=changes, families=families) as house:
        yield Kept(house)


def steps(notices: list[Notice], *kinds: str) -> list[StepNotice]:
    return [one for one in notices if isinstance(one, StepNotice) and (not kinds or one.kind in kinds)]
