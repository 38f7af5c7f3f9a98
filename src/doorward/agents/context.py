"""The agent context: the gate, the services and the models that every agent uses."""

from __future__ import annotations

from typing import Protocol

import msgspec

from doorward.agents.models.model import Model, ModelFailed
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


class AgentContext(msgspec.Struct, frozen=True):
    gate: Gate
    services: Services
    models: ModelSource
