"""What destroys is only asked for where a person is asked before it runs."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.plan import Around, Step, Unknown

_SAYS_SO = "waits for a person's approval"


def asks_first(around: Around, step: Step) -> Step:
    """A call that destroys, provided that a person is asked before; otherwise a person must make it."""
    tool = around.tools[step.command]
    if tool.asks or _SAYS_SO in tool.description or around.lenient:
        return step
    line = " ".join([step.command, *(f"--{key}={shlex.quote(_line(value))}" for key, value in step.params.items())])
    raise Unknown(knowledge.smalltalk().person_must.format(command=step.command, line=f"doorward run {line}"))


def _line(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
