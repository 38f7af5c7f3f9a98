"""Fallback models: the sentences that say which model answered instead, and why."""

from __future__ import annotations

from doorward.agents.models.model import Loads, Model, ModelFailed

_HOUSE = "house"


def stood_in(name: str, other: str, why: str) -> str:
    """Say that a fallback model answered. `why` is a complete sentence."""
    by = "the house model" if other == _HOUSE else other
    return f"{name} is not available, so {by} answered instead: {why}"


def neither(first: ModelFailed, other: str, second: ModelFailed) -> ModelFailed:
    """Return the failure of a model and of its fallback."""
    return ModelFailed(second.fault, f"{first.message} Its fallback {other} failed as well: {second.message}")


def must_load(model: Model) -> Loads | None:
    """Return the model if it must be loaded before it can answer, which takes a while."""
    return model if isinstance(model, Loads) and not model.loaded else None
