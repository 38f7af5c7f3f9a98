"""The JSON Schema of an entry's parameters."""

from __future__ import annotations

from typing import Any

from doorward.catalogue.entry import ARGUMENTS, FOLDER, INPUT, Entry, Parameter

_LONGEST = 100_000
_MOST = 1_000
LARGEST_INPUT = 1_000_000


def schema(entry: Entry) -> dict[str, Any]:
    """A schema with each option and argument by name, or `arguments` instead, as typed in a shell."""
    properties: dict[str, Any] = {one.name: _property(one) for one in entry.parameters}
    properties[ARGUMENTS] = {
        "type": "array",
        "items": {"type": "string", "maxLength": _LONGEST},
        "maxItems": _MOST,
        "description": f"Instead of the parameters above: the words after {entry.name}, as typed in a shell",
    }
    properties[FOLDER] = {
        "type": "string",
        "minLength": 1,
        "maxLength": 4096,
        "default": ".",
        "description": "The folder to start in, relative to the workspace; paths are relative to it",
    }
    if entry.input:
        properties[INPUT] = {
            "type": "string",
            "maxLength": LARGEST_INPUT,
            "default": "",
            "description": "The text for its standard input",
        }
    found: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required(entry):
        found["anyOf"] = [{"required": [ARGUMENTS]}, {"required": list(required(entry))}]
    return found


def required(entry: Entry) -> tuple[str, ...]:
    return tuple(one.name for one in entry.parameters if one.required and one.default is None)


def _property(one: Parameter) -> dict[str, Any]:
    found = _value(one)
    if one.many:
        found = {"type": "array", "items": found, "minItems": 1 if one.required else 0, "maxItems": _MOST}
    found["description"] = one.help
    if one.default is not None:
        found["default"] = one.default
    elif one.type == "flag":
        found["default"] = False
    return found


def _value(one: Parameter) -> dict[str, Any]:
    match one.type:
        case "flag":
            return {"type": "boolean"}
        case "choice":
            return {"type": "string", "enum": list(one.choices)}
        case "integer" | "number":
            limits = {"minimum": one.minimum, "maximum": one.maximum}
            return {"type": one.type, **{key: value for key, value in limits.items() if value is not None}}
        case "path":
            return {"type": "string", "minLength": 1, "maxLength": 4096}
        case "text":
            found: dict[str, Any] = {"type": "string", "maxLength": _LONGEST}
            return {**found, "pattern": one.pattern} if one.pattern else found
