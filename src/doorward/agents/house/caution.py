"""What destroys is only asked for where a person is asked before it runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.plan import Plan, Step
from doorward.agents.models.model import ToolSpec

_SAYS_SO = "waits for a person's approval"
_TOLD = frozenset(("bash", "shell/cp", "shell/mv", "vfs/copy", "vfs/move"))
"""Where they are meant and not guessed, somebody has said which line is run, or what goes where."""


def waits(tool: ToolSpec) -> bool:
    """Whether a person is asked before it runs."""
    return tool.asks or _SAYS_SO in tool.description


def person_must(tools: Mapping[str, ToolSpec], plan: Plan, steps: Iterable[Step]) -> str:
    """Why calls are not made: one destroys, and nobody is asked before; how a person makes it. Empty: they may be."""
    for step in steps:
        tool = tools[step.command]
        if tool.destroys and not waits(tool) and (plan.guessed or step.command not in _TOLD):
            given = (f"--{key}={shlex.quote(_line(value))}" for key, value in step.params.items())
            line = " ".join(["doorward run", step.command, *given])
            return knowledge.smalltalk().person_must.format(command=step.command, line=line)
    return ""


def _line(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
