"""suggest_command: the best find of help/search as a line to run, and why."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.backends.help import words
from doorward.command import Command, Example
from doorward.doors.line.tools import Tools
from doorward.model import Outcome, Request
from doorward.names import folded
from doorward.registry import Registry

_NAME = "suggest_command"
_FIND = "shell/find"
_CHOICE = 30
_ALTERNATIVES = 5
_KINDS = {
    "text": "*.txt",
    "python": "*.py",
    "markdown": "*.md",
    "json": "*.json",
    "log": "*.log",
    "csv": "*.csv",
    "javascript": "*.js",
    "html": "*.html",
}
"""What people call files of one kind, and the names that such files have."""
_FILES_OF_A_KIND = re.compile(rf"\b({'|'.join(_KINDS)})\s+files?\b", re.IGNORECASE)


@functools.lru_cache(1_024)
def is_asked(tool: str) -> bool:
    return folded(tool) == _NAME


def widened(args: dict[str, Any]) -> dict[str, Any]:
    """More finds to choose from than would be shown, unless somebody says how many."""
    return {"limit": _CHOICE, **args}


def suggested(outcome: Outcome, request: Request, registry: Registry, tools: Tools) -> Outcome:
    """The same find, told as one suggestion with its alternatives; what cannot be told so is left as it is."""
    items = outcome.result.get("items", []) if isinstance(outcome.result, dict) else []
    query = str((request.params or {}).get("query", ""))
    found = [(registry[item["command"]], item["score"]) for item in items if item["command"] in registry]
    if not found:
        text = f"No command that you may run here fits {query[:80]!r}; list_tools shows all of them."
        return msgspec.structs.replace(outcome, text=text)
    uses = [(command, _nearest(command, query)) for command, _ in found]
    fits = [score + _likeness(use, query) for (_, score), (_, use) in zip(found, uses, strict=True)]
    score = max(fits)
    best, use = uses[fits.index(score)]
    line = command_line(tools.name(best), use.params)
    others = [tools.name(command) for command, _ in found if command is not best][:_ALTERNATIVES]
    explanation = f"{best.summary} The line is its use for {use.says!r}; put your own values into it."
    text = f"{line}\n{explanation}"
    if others:
        text += f"\nOthers that fit: {', '.join(others)}."
    data = {
        "suggestion": line,
        "tool": tools.name(best),
        "args": dict(use.params),
        "explanation": explanation,
        "usage": best.usage,
        "score": round(score, 3),
        "alternatives": others,
    }
    return msgspec.structs.replace(outcome, text=text, result=data)


def command_line(name: str, params: Mapping[str, Any]) -> str:
    """A call as a person would write it: `find src --name='*.py'` reads better than its JSON."""
    parts = [name]
    for key, value in params.items():
        if value is True:
            parts.append(f"--{key}")
        elif isinstance(value, list):
            parts += [shlex.quote(str(one)) for one in value]
        else:
            parts.append(f"--{key}={shlex.quote(str(value))}")
    return " ".join(parts)


def _nearest(command: Command, query: str) -> Example:
    """The use whose words have most in common with what was asked for; the first among equals."""
    kind = _FILES_OF_A_KIND.search(query)
    if kind is not None and command.name == _FIND:
        says = kind[0].lower()
        return Example(says, {"paths": ["."], "name": _KINDS[kind[1].lower()], "type": "f"})
    return max(command.facts.examples, key=lambda one: _likeness(one, query), default=Example(command.summary, {}))


def _likeness(use: Example, query: str) -> float:
    if use.says in query.lower():
        return 1.0
    wanted = words(query)
    return len(wanted & words(use.says)) / len(wanted) if wanted else 0.0
