"""Choose the keeper's model, and tell people when their data goes to another machine."""

from __future__ import annotations

from collections.abc import Mapping

from doorward.agents.models.model import Model
from doorward.agents.models.provider import MODEL_VARIABLE
from doorward.agents.models.remote import RemoteModel
from doorward.config.settings import KeeperSettings
from doorward.core.classification import Access
from doorward.core.command import shorten
from doorward.core.errors import NotPermitted
from doorward.core.model import Caller
from doorward.rooms.people import LOCAL

HOUSE = "house"
_KEY = "OPENAI_API_KEY"


def choose_model(asked: str, caller: Caller, settings: KeeperSettings, environment: Mapping[str, str]) -> str:
    """Return the name of the model: the one asked for, the one in the settings, or one with a key in the environment.

    Callers of other tenants get the free house model by default, because model keys belong to the operator.
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


def check_choice(asked: str, caller: Caller, settings: KeeperSettings) -> None:
    """Refuse a model that this caller may not choose."""
    if asked in (HOUSE, *settings.models):
        return
    if caller.tenant == LOCAL and caller.kind == "human" and caller.access >= Access.FULL:
        return
    raise NotPermitted(
        f"You may not choose this model for the keeper. Valid: {', '.join((HOUSE, *settings.models))}; given "
        f"{shorten(asked)}.",
        rule="settings: keeper.models",
        hint="Leave the model out.",
    )


def remote_notice(model: Model) -> str:
    """Return a notice if the request and its results go to another machine, else an empty text."""
    if not isinstance(model, RemoteModel) or not model.is_remote:
        return ""
    return f"Your request and the command output were sent to {model.name} on another machine, with secrets redacted."
