"""One program of the catalogue, with its options, its arguments and the JSON Schema of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from doorward.core.classification import Effects, Safety, Tier
from doorward.sandbox.program import ProfileName

ParameterType = Literal["path", "text", "integer", "number", "choice", "flag"]
OptionSpelling = Literal["equals", "separate", "attached"]

ARGUMENTS_PARAMETER = "arguments"
FOLDER_PARAMETER = "folder"
INPUT_PARAMETER = "input"
RESERVED = frozenset({ARGUMENTS_PARAMETER, FOLDER_PARAMETER, INPUT_PARAMETER})
"""The parameters that every catalogue command has in addition to those of its entry."""


class CatalogueParameter(msgspec.Struct, frozen=True, kw_only=True):
    """An option (`short` or `long` is set) or a positional argument."""

    name: str
    help: str
    type: ParameterType
    many: bool = False
    """Whether it is a list: an option given repeatedly, or an argument of one or more words."""
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    pattern: str = ""
    default: Any = None
    dash: bool = False
    """Whether the value of this option may begin with a dash."""
    short: str = ""
    long: str = ""
    spelled: OptionSpelling = "separate"
    after_dashes: bool = False
    """Whether this argument comes after `--`, where nothing is read as an option."""

    @property
    def is_option(self) -> bool:
        return bool(self.short or self.long)

    @property
    def spelling(self) -> str:
        return self.long or self.short or f"<{self.name}>"


class CatalogueExample(msgspec.Struct, frozen=True):
    says: str
    params: Mapping[str, Any]


class CatalogueEntry(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    program: str
    """Its name, looked up on PATH."""
    workspace_path: str
    """Where it is looked for first: a path in the folder of the call or a folder above it; empty for PATH alone."""
    prefix: tuple[str, ...]
    """Words that always come first, such as a subcommand."""
    summary: str
    description: str
    category: str
    options: tuple[CatalogueParameter, ...]
    arguments: tuple[CatalogueParameter, ...]
    options_last: bool
    input: bool
    """Whether the program reads standard input."""
    exit_codes: tuple[int, ...]
    """The exit codes that count as success."""
    tier: Tier
    effects: Effects
    safety: Safety
    cost: float
    network: bool
    profile: ProfileName
    memory_bytes: int | None
    timeout_seconds: float | None
    examples: tuple[CatalogueExample, ...]
    aliases: tuple[str, ...]
    related: tuple[str, ...]
    version: str
    """A hash of the entry's source, used to detect changed definitions."""

    @property
    def parameters(self) -> tuple[CatalogueParameter, ...]:
        return self.options + self.arguments

    @property
    def writes(self) -> bool:
        return bool(self.effects & (Effects.WRITE | Effects.DESTROY))


_MAX_TEXT = 100_000
_MAX_ITEMS = 1_000
MAX_INPUT = 1_000_000


def build_parameter_schema(entry: CatalogueEntry) -> dict[str, Any]:
    """A schema with each option and argument by name, or `arguments` instead, as typed in a shell.

    The command itself checks that one of them is complete: clients refuse a schema with alternatives at its top.
    """
    names = required_names(entry)
    needed = f". Without it, {' and '.join(names)} {'are' if len(names) > 1 else 'is'} required" if names else ""
    properties: dict[str, Any] = {one.name: _property_schema(one) for one in entry.parameters}
    properties[ARGUMENTS_PARAMETER] = {
        "type": "array",
        "items": {"type": "string", "maxLength": _MAX_TEXT},
        "maxItems": _MAX_ITEMS,
        "description": f"Instead of the parameters above: the words after {entry.name}, as typed in a shell{needed}",
    }
    properties[FOLDER_PARAMETER] = {
        "type": "string",
        "minLength": 1,
        "maxLength": 4096,
        "default": ".",
        "description": "The folder to start in, relative to the workspace; paths are relative to it",
    }
    if entry.input:
        properties[INPUT_PARAMETER] = {
            "type": "string",
            "maxLength": MAX_INPUT,
            "default": "",
            "description": "The text for its standard input",
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def required_names(entry: CatalogueEntry) -> tuple[str, ...]:
    return tuple(one.name for one in entry.parameters if one.required and one.default is None)


def _property_schema(one: CatalogueParameter) -> dict[str, Any]:
    found = _value_schema(one)
    if one.many:
        found = {"type": "array", "items": found, "minItems": 1 if one.required else 0, "maxItems": _MAX_ITEMS}
    found["description"] = one.help
    if one.default is not None:
        found["default"] = one.default
    elif one.type == "flag":
        found["default"] = False
    return found


def _value_schema(one: CatalogueParameter) -> dict[str, Any]:
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
            found: dict[str, Any] = {"type": "string", "maxLength": _MAX_TEXT}
            return {**found, "pattern": one.pattern} if one.pattern else found
