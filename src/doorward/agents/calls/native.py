"""Calls that came over a provider's own wire: only their arguments are text, and that text is JSON."""

from __future__ import annotations

from doorward import strictjson
from doorward.agents.calls.wanted import Wanted
from doorward.agents.models.model import Asked
from doorward.command import shortened


def native(asked: Asked) -> Wanted | str:
    """The call, or a sentence to the model that says why its arguments cannot be read.

    No arguments at all are what models write for a command that needs none.
    """
    if not asked.arguments.strip():
        return Wanted(name=asked.name, params={}, id=asked.id)
    try:
        params = strictjson.loads(asked.arguments)
    except strictjson.NotJson as error:
        return (
            f"The call of {shortened(asked.name)} was not made: its arguments must be one JSON object; "
            f"{error}; given {shortened(asked.arguments)}."
        )
    if not isinstance(params, dict):
        return (
            f"The call of {shortened(asked.name)} was not made: its arguments must be one JSON object; "
            f"given {shortened(asked.arguments)}."
        )
    return Wanted(name=asked.name, params=params, id=asked.id, raw=asked.arguments)
