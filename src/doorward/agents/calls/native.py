"""Parse native tool calls of providers; their arguments are JSON text."""

from __future__ import annotations

from doorward import strictjson
from doorward.agents.calls.wanted import Wanted
from doorward.agents.models.model import Asked
from doorward.command import shortened


def native(asked: Asked) -> Wanted | str:
    """Return the call, or a sentence for the model that says why its arguments cannot be read.

    Empty arguments are valid: models send them for commands without parameters.
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
