"""The agent context: the gate, the services and the models that every agent uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from doorward.agents.answers import ModelAnswer
from doorward.agents.calls.parsed import ParsedCall
from doorward.agents.models.model import Model, ModelFailed, ToolSpec
from doorward.commands.context import Services
from doorward.gate.gate import Gate


class ModelSource(Protocol):
    def find(self, name: str) -> Model:
        """Return the model of this name. Raises `ModelFailed` if there is none."""
        ...

    def instead_of(self, name: str) -> Model | None:
        """Return the fallback for the model of this name, or None."""
        ...


def find_house(models: ModelSource) -> Model | None:
    """Return the house model; None where it cannot be used."""
    try:
        return models.find("house")
    except ModelFailed:
        return None


class Regulation(Protocol):
    """How a turn of an agent with effort differs from that of another persona."""

    @property
    def tools(self) -> tuple[ToolSpec, ...]: ...

    @property
    def instructions(self) -> str: ...

    def choose_model(self) -> str: ...

    def limit_answer(self, tokens: int) -> int:
        """Return how long an answer may be now, in tokens."""
        ...

    async def measure(self, model: Model, ask: Callable[[], Awaitable[ModelAnswer]]) -> ModelAnswer:
        """Ask the model, and charge what its answer costs."""
        ...

    async def run_tool(self, call: ParsedCall) -> Any:
        """Run a tool of the agent itself and return its `CallResult`; None for any other call."""
        ...


class AgentContext(msgspec.Struct, frozen=True):
    gate: Gate
    services: Services
    models: ModelSource
    regulate: Callable[[str, str, str], Regulation | None] = lambda persona, room, asker: None
    """Returns how a turn of a persona in a room, for a person, is regulated; None if it is not."""
