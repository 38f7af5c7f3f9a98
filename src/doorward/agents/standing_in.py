"""When a model cannot be asked and another answers in its place: that is said, whoever asked."""

from __future__ import annotations

from doorward.agents.models.model import Loads, Model, ModelFailed

_HOUSE = "house"


def stood_in(name: str, other: str, why: str) -> str:
    """The sentence that says so. `why` is a sentence of its own."""
    by = "the house model" if other == _HOUSE else other
    return f"{name} could not be asked, so {by} stood in: {why}"


def neither(first: ModelFailed, other: str, second: ModelFailed) -> ModelFailed:
    """That the model which stands in could not be asked either."""
    return ModelFailed(
        second.fault, f"{first.message} {other}, which stands in for it, did not either: {second.message}"
    )


def must_load(model: Model) -> Loads | None:
    """The model, if it has to be loaded before it can be asked, which takes a while and is said."""
    return model if isinstance(model, Loads) and not model.loaded else None
