"""What stands in the place of a secret is not written back in its place.

Models that think here are shown texts without their secrets. One that writes such a text back, whole, would destroy
them, and nobody would see it happen. So whatever a model wants to change with that mark in it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward import redact
from doorward.errors import BadParams
from doorward.executions.execution import Execution
from doorward.model import Call

RULE = "house: what stands for a secret is not written in its place"
_TALK = ("room/",)
"""Commands that only say something to people, who may read the mark."""


def check(call: Call, parent: Execution | None) -> None:
    """Refuse a change that a model thought of, if its parameters hold the mark.

    What a command does by calls of its own is not looked at: it was never without its secrets.
    """
    own = parent is None or parent.call.command.facts.thinks
    if not own or not (call.caller.keeper or call.caller.persona) or call.command.reads_only:
        return
    if call.command.name.startswith(_TALK) or not _holds(call.params):
        return
    raise BadParams(
        f"{call.command.name} was not run: what it was given holds {redact.HIDDEN}, which stands for a secret that was "
        "taken out before the model saw it. Written like this, the secret would be lost.",
        hint="Change only the part without secrets (vfs/append, file/edit), or let a person give the text.",
        rule=RULE,
    )


def _holds(value: Any) -> bool:
    if isinstance(value, str):
        return redact.HIDDEN in value
    if isinstance(value, Mapping):
        return any(_holds(key) or _holds(one) for key, one in value.items())
    return isinstance(value, list | tuple) and any(map(_holds, value))
