"""Refuses changes that would replace a secret by its redaction placeholder.

Personas and the keeper see texts with secrets redacted. A model that writes such a text back would overwrite the secret
with the placeholder, unnoticed. So a change that a model asks for is refused when its parameters hold the placeholder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.core import redact
from doorward.core.errors import BadParams
from doorward.core.model import Call
from doorward.gate.executions.execution import Execution

RULE = "built-in: a redacted secret is not written back"
_TALK = ("room/",)
"""Commands that only send text to people, which may hold the placeholder."""


def check(call: Call, parent: Execution | None) -> None:
    """Refuse a change that a model asks for when its parameters hold the placeholder.

    Calls that a command makes itself are not checked: it works on the text with its secrets.
    """
    own = parent is None or parent.call.command.facts.runs_agent
    if not own or not (call.caller.keeper or call.caller.persona) or call.command.reads_only:
        return
    if call.command.name.startswith(_TALK) or not _holds(call.params):
        return
    raise BadParams(
        f"{call.command.name} was not run: its parameters hold {redact.HIDDEN}, the placeholder of a secret that was "
        "redacted before the model saw the text. Writing it would destroy the secret.",
        hint="Change only the part without secrets (vfs/append, file/edit), or let a person write the text.",
        rule=RULE,
    )


def _holds(value: Any) -> bool:
    if isinstance(value, str):
        return redact.HIDDEN in value
    if isinstance(value, Mapping):
        return any(_holds(key) or _holds(one) for key, one in value.items())
    return isinstance(value, list | tuple) and any(map(_holds, value))
