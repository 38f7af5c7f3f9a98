"""What the keeper thinks with, and what a person should know about that."""

from __future__ import annotations

from collections.abc import Mapping

from doorward.agents.models.model import Model
from doorward.agents.models.provider import MODEL_VARIABLE
from doorward.agents.models.remote import RemoteModel

HOUSE = "house"
_KEY = "OPENAI_API_KEY"


def wanted(asked: str, configured: str, environment: Mapping[str, str]) -> str:
    """The name of the model: what was asked for, what the settings say, or what the environment has a key for."""
    if asked or configured:
        return asked or configured
    if not environment.get(_KEY):
        return HOUSE
    named = environment.get(MODEL_VARIABLE)
    return f"openai:{named}" if named else "openai"


def leaves(model: Model) -> str:
    """A sentence where what is asked and found goes to another machine; else nothing."""
    if not isinstance(model, RemoteModel) or not model.is_elsewhere:
        return ""
    return f"What was asked and what the commands gave was sent to {model.name}, on another machine; secrets were not."
