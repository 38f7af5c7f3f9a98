"""Commands as tools of the line door: short names, metadata for agents, and alternative parameter names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.core.command import Command
from doorward.core.errors import UnknownCommand
from doorward.core.names import to_camel
from doorward.core.registry import Registry
from doorward.core.tool_schema import flatten_schema

POPULAR = frozenset(
    {"bash", "data/list", "data/query", "file/edit", "file/list", "file/read", "file/search", "file/write"}
    | {f"shell/{name}" for name in ("cat", "cd", "cp", "date", "diff", "echo", "find", "git_diff", "git_log")}
    | {
        f"shell/{name}"
        for name in ("git_status", "grep", "head", "ls", "mkdir", "mv", "pwd", "rm", "sort", "tail", "wc")
    }
    | {"shell/script", "help/search"}
)
"""Commands that the tool list marks as popular."""

_PROGRAMS = "shell/"
_MAX_LISTS = 16
_FILES = ("paths", "path", "files", "file")
"""Interchangeable names of a file parameter."""


class LineTools:
    """Tool lists, encoded once for each set of commands, and the lookup of a command by its tool name."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._lists: OrderedDict[tuple[Command, ...], bytes] = OrderedDict()

    def encode_list(self, offered: list[Command]) -> msgspec.Raw:
        """The tools for these commands as JSON. A changed catalogue or recipe gives another set, and a new list."""
        key = tuple(offered)
        text = self._lists.get(key)
        if text is None:
            text = msgspec.json.encode({"tools": [self._describe(command) for command in offered]})
            self._lists[key] = text
            if len(self._lists) > _MAX_LISTS:
                self._lists.popitem(last=False)
        else:
            self._lists.move_to_end(key)
        return msgspec.Raw(text)

    def tool_name(self, command: Command) -> str:
        """The bare name (`ls`) if it resolves to this command, else the function-calling name (`data_list`)."""
        bare = command.name.removeprefix(_PROGRAMS)
        if bare != command.name and self.find_command(bare) is command:
            return bare
        return command.wire

    def find_command(self, name: str) -> Command | None:
        """The command with this name, or None. The gate reports unknown commands."""
        try:
            return self._registry.resolve(name, ())
        except UnknownCommand:
            return None

    def _describe(self, command: Command) -> dict[str, Any]:
        facts, schema = command.facts, flatten_schema(command.schema).schema
        related = [self.tool_name(self._registry[name]) for name in facts.related]
        return {
            "name": self.tool_name(command),
            "description": command.description or command.summary,
            "inputSchema": {key: value for key, value in schema.items() if key != "$schema"},
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


def translate_arguments(command: Command, given: Mapping[str, Any]) -> dict[str, Any]:
    """Translate arguments to the command's own parameter names. The gate refuses those that stay unknown."""
    properties = command.schema["properties"]
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = _parameter_name(command, properties, key, value)
        if name in found or (name != key and name in given):
            name = key
        found[name] = [value] if _needs_list(properties.get(name), value) else value
    return found


def _parameter_name(command: Command, properties: Mapping[str, Any], key: str, value: Any) -> str:
    """`include_history` is includeHistory, `path` may be paths or files, and `execution_id` is execution."""
    if key in properties:
        return "paths" if command.name == "shell/find" and key == "path" and _is_folder(value) else key
    others = [to_camel(key), f"{to_camel(key)}s", to_camel(key.removesuffix("_id"))]
    if key in _FILES:
        others += _FILES
    return next((other for other in others if other in properties), key)


def _is_folder(value: Any) -> bool:
    """Whether `path` of `find` is a folder to search rather than a pattern, which has wildcards."""
    return isinstance(value, str) and not any(sign in value for sign in "*?[")


def _needs_list(spec: Mapping[str, Any] | None, value: Any) -> bool:
    return spec is not None and spec.get("type") == "array" and not isinstance(value, list | dict) and value is not None
