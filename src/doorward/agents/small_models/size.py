"""Which models are small: they get the short context."""

from __future__ import annotations

from doorward.agents.models.model import Model, SizedModel


def is_small(model: Model) -> bool:
    return isinstance(model, SizedModel) and model.small
