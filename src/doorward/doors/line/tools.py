"""Commands as this door's users know them: short names, hints for agents, and the spellings that they use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.command import Command
from doorward.errors import UnknownCommand
from doorward.names import camel
from doorward.registry import Registry

POPULAR = frozenset(
    {"bash", "data/list", "data/query", "file/edit", "file/list", "file/read", "file/search", "file/write"}
    | {f"shell/{name}" for name in ("cat", "cd", "cp", "date", "diff", "echo", "find", "git_diff", "git_log")}
    | {
        f"shell/{name}"
        for name in ("git_status", "grep", "head", "ls", "mkdir", "mv", "pwd", "rm", "sort", "tail", "wc")
    }
    | {"shell/script", "help/search"}
)
"""What people reach for first."""

_PROGRAMS = "shell/"
_MOST_LISTS = 16
_FILES = ("paths", "path", "files", "file")
"""What different tools call the files they are about, and what people call them at any tool."""


class Tools:
    """What is offered, as bytes that are made once for each different offer, and the way back from a name."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._lists: OrderedDict[tuple[Command, ...], bytes] = OrderedDict()

    def listed(self, offered: list[Command]) -> msgspec.Raw:
        """The tools for these commands as JSON. A changed catalogue or recipe gives another offer, and a new text."""
        key = tuple(offered)
        text = self._lists.get(key)
        if text is None:
            text = msgspec.json.encode({"tools": [self._described(command) for command in offered]})
            self._lists[key] = text
            if len(self._lists) > _MOST_LISTS:
                self._lists.popitem(last=False)
        else:
            self._lists.move_to_end(key)
        return msgspec.Raw(text)

    def name(self, command: Command) -> str:
        """The bare name where it means this command (`ls`), else the one of function-calling APIs (`data_list`)."""
        bare = command.name.removeprefix(_PROGRAMS)
        if bare != command.name and self.find(bare) is command:
            return bare
        return command.wire

    def find(self, name: str) -> Command | None:
        """The command meant by a name, as far as this door must know it; whether there is one, the gate says."""
        try:
            return self._registry.resolve(name, ())
        except UnknownCommand:
            return None

    def _described(self, command: Command) -> dict[str, Any]:
        facts = command.facts
        related = [self.name(self._registry[name]) for name in facts.related]
        return {
            "name": self.name(command),
            "description": command.description or command.summary,
            "inputSchema": {key: value for key, value in command.schema.items() if key != "$schema"},
            "metadata": {
                "command": command.name,
                "safety": facts.safety,
                "examples": [one.says for one in facts.examples],
                "related_tools": related,
                "category": command.category,
                "popular": command.name in POPULAR,
                "effects": facts.effects.names,
            },
        }


def arguments(command: Command, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments in this door's spellings as the command has them. What stays unknown is left for the gate to refuse."""
    properties = command.schema["properties"]
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = _meant(command, properties, key, value)
        if name in found or (name != key and name in given):
            name = key
        found[name] = [value] if _is_one_of_many(properties.get(name), value) else value
    return found


def _meant(command: Command, properties: Mapping[str, Any], key: str, value: Any) -> str:
    """`include_history` is includeHistory, `path` is one of paths or files, and `execution_id` is the execution."""
    if key in properties:
        return "paths" if command.name == "shell/find" and key == "path" and _is_a_place(value) else key
    others = [camel(key), f"{camel(key)}s", camel(key.removesuffix("_id"))]
    if key in _FILES:
        others += _FILES
    return next((other for other in others if other in properties), key)


def _is_a_place(value: Any) -> bool:
    """What `path` means to whoever asks `find` through this door; a pattern over whole paths has signs of one in it."""
    return isinstance(value, str) and not any(sign in value for sign in "*?[")


def _is_one_of_many(spec: Mapping[str, Any] | None, value: Any) -> bool:
    return spec is not None and spec.get("type") == "array" and not isinstance(value, list | dict) and value is not None
