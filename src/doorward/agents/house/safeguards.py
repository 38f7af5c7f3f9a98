"""Destructive calls are made only where a person is asked before they run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from doorward.agents.house.plan import Reading, Step
from doorward.agents.models.model import ToolSpec

_WAITS = "waits for a person's approval"
_SPELLED_OUT = frozenset(("bash", "shell/cp", "shell/mv", "vfs/copy", "vfs/move"))
"""Commands whose destructive part the person has spelled out, unless the reading is a guess."""


def needs_approval(tool: ToolSpec) -> bool:
    return tool.asks or _WAITS in tool.description


def refuse_destruction(tools: Mapping[str, ToolSpec], reading: Reading, steps: Iterable[Step]) -> str:
    """Return why these calls are not made: one destroys something, and nobody would be asked. Empty if all may be."""
    for step in steps:
        tool = tools[step.command]
        if tool.destroys and not needs_approval(tool) and (reading.guessed or step.command not in _SPELLED_OUT):
            given = (f"--{key}={shlex.quote(_argument(value))}" for key, value in step.params.items())
            line = " ".join(["doorward run", step.command, *given])
            return (
                f"I did nothing: {step.command} would change something that nobody was asked about, so a person has "
                f"to run it: {line}"
            )
    return ""


def _argument(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
