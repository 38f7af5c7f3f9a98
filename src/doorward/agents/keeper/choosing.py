"""What the keeper thinks with, and what a person should know about that."""

from __future__ import annotations

from collections.abc import Mapping

from doorward.agents.models.model import Model
from doorward.agents.models.provider import MODEL_VARIABLE
from doorward.agents.models.remote import RemoteModel
from doorward.command import shortened
from doorward.errors import NotPermitted
from doorward.facts import Access
from doorward.model import Caller
from doorward.rooms.people import LOCAL
from doorward.settings import Keeper

HOUSE = "house"
_KEY = "OPENAI_API_KEY"


def wanted(asked: str, caller: Caller, settings: Keeper, environment: Mapping[str, str]) -> str:
    """The name of the model: what was asked for, what the settings say, or what the environment has a key for.

    Models cost money, and their keys are the house's own: who is a guest here thinks with what costs nothing.
    """
    if asked:
        return asked
    if caller.tenant != LOCAL and not settings.for_tenants:
        return HOUSE
    if settings.model:
        return settings.model
    if not environment.get(_KEY):
        return HOUSE
    named = environment.get(MODEL_VARIABLE)
    return f"openai:{named}" if named else "openai"


def check(asked: str, caller: Caller, settings: Keeper) -> None:
    """Refuse the name of a model that this caller may not choose."""
    if asked in (HOUSE, *settings.models):
        return
    if caller.tenant == LOCAL and caller.kind == "human" and caller.access >= Access.FULL:
        return
    raise NotPermitted(
        f"You may not choose what the keeper thinks with beyond {', '.join((HOUSE, *settings.models))}; given "
        f"{shortened(asked)}.",
        rule="settings: keeper.models",
        hint="Leave the model out.",
    )


def leaves(model: Model) -> str:
    """A sentence where what is asked and found goes to another machine; else nothing."""
    if not isinstance(model, RemoteModel) or not model.is_elsewhere:
        return ""
    return f"What was asked and what the commands gave was sent to {model.name}, on another machine; secrets were not."
