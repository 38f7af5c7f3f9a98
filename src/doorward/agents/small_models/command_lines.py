"""Commands for small models: each as one line with its parameters and an example, and as a tool with a short schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.agents.models.model import ToolSpec
from doorward.core.command import Command
from doorward.core.tool_schema import flatten_schema

_LEAST_PARAMETERS = 1
_LONGEST_SUMMARY = 90
_LONGEST_EXAMPLE = 240
_COLLECTION = "collection"
_TYPES = {"string": "text", "integer": "number", "array": "list"}
_KEPT = ("type", "enum", "const", "items", "anyOf", "additionalProperties", "properties", "required")


class CommandLine(msgspec.Struct, frozen=True):
    """One command as a small model is shown it."""

    tool: ToolSpec
    text: str
    """Its name, its parameters, what it does, and an example."""
    example: str
    """The example call as JSON; empty if there is none."""


def describe_command(
    command: Command,
    *,
    waits: bool,
    collections: Sequence[str] = (),
    example: Mapping[str, Any] | None = None,
    also: Sequence[str] = (),
    note: str = "",
) -> CommandLine:
    """Describe a command with its required parameters, those of its example, and those that `also` names.

    `example` replaces its own, and `collections` are the ones it can name.
    """
    schema = flatten_schema(command.schema).schema
    required = list(schema.get("required", ()))
    shown = example if example is not None else next((one.params for one in command.facts.examples), {})
    names = [*required, *(name for name in shown if name not in required)]
    if len(names) < _LEAST_PARAMETERS:
        names += [name for name in schema["properties"] if name not in names][:_LEAST_PARAMETERS]
    names += [name for name in also if name not in names]
    specs = {name: schema["properties"][name] for name in names if name in schema["properties"]}
    slim = {
        "type": "object",
        "properties": {name: _slim(name, spec, collections) for name, spec in specs.items()},
        "required": required,
        "additionalProperties": False,
    }
    parts = ", ".join(f'"{name}"{"" if name in required else "?"}: {_type_word(spec)}' for name, spec in specs.items())
    call = write_call(command.wire, shown) if shown or not required else ""
    summary = command.summary.partition(". ")[0].rstrip(".")[:_LONGEST_SUMMARY]
    approval = " (waits for approval)" if waits else ""
    sample = f" Example: {call}" if call and len(call) <= _LONGEST_EXAMPLE else ""
    text = f"- {command.wire} {{{parts}}}: {summary}{approval}.{sample}{note}"
    tool = ToolSpec(command.wire, summary, slim, command.name, reads_only=command.reads_only)
    return CommandLine(tool, text, call)


def write_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Write a call as a model is to write it."""
    return json.dumps({"name": name, "arguments": dict(arguments)}, ensure_ascii=False)


def _slim(name: str, spec: Any, collections: Sequence[str]) -> Any:
    if name == _COLLECTION and collections:
        return {"enum": list(collections)}
    if not isinstance(spec, Mapping):
        return {}
    return {key: spec[key] for key in _KEPT if key in spec}


def _type_word(spec: Any) -> str:
    if not isinstance(spec, Mapping):
        return "value"
    choices = spec.get("enum")
    if isinstance(choices, list) and len(choices) <= 6:
        return "|".join(str(one) for one in choices)
    kind = spec.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), None)
    if kind is None and isinstance(spec.get("anyOf"), list):
        return next((word for one in spec["anyOf"] if (word := _type_word(one)) not in ("null", "value")), "value")
    return _TYPES.get(str(kind), str(kind or "value"))
