"""The agent context: the gate, the services and the models that every agent uses."""

from __future__ import annotations

from typing import Protocol

import msgspec

from doorward.agents.models.model import Model
from doorward.commands.context import Services
from doorward.gate.gate import Gate


class ModelSource(Protocol):
    def find(self, name: str) -> Model:
        """Return the model of this name. Raises `ModelFailed` if there is none."""
        ...

    def instead_of(self, name: str) -> Model | None:
        """Return the fallback for the model of this name, or None."""
        ...


class AgentContext(msgspec.Struct, frozen=True):
    gate: Gate
    services: Services
    models: ModelSource
