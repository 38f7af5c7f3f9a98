"""What a persona's turn stands on: the gate, the services of the house, and models to think with."""

from __future__ import annotations

from typing import Protocol

import msgspec

from doorward.agents.models.model import Model
from doorward.backends.context import Services
from doorward.gate.gate import Gate


class Models(Protocol):
    def find(self, name: str) -> Model:
        """The model of this name; `ModelFailed` says why there is none."""
        ...

    def instead_of(self, name: str) -> Model | None:
        """The model that answers where the one of this name cannot be asked; None where none does."""
        ...


class Surroundings(msgspec.Struct, frozen=True):
    gate: Gate
    services: Services
    models: Models
