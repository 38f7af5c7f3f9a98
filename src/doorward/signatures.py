"""The JSON Schemas that the signature of a typed function says: of what it takes, and of what it gives."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import msgspec

from doorward import names

_REFERENCE = "#/$defs/{name}"


def signature_schema(run: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The JSON Schema of a typed function's parameters (after the context), and wire name to argument name."""
    hints = typing.get_type_hints(run, include_extras=True)
    fields: list[Any] = []
    arguments: dict[str, str] = {}
    for parameter in list(inspect.signature(run).parameters.values())[1:]:
        wire = names.camel(parameter.name)
        arguments[wire] = parameter.name
        kind = hints[parameter.name]
        if parameter.default is inspect.Parameter.empty:
            fields.append((wire, kind))
        else:
            fields.append((wire, kind, msgspec.field(default=parameter.default)))
    shape = msgspec.defstruct("Params", fields, forbid_unknown_fields=True, kw_only=True)
    return _whole_schema(shape), arguments


def result_schema(run: Callable[..., Any]) -> dict[str, Any] | None:
    """The JSON Schema of a typed function's result as doors give it, always of an object; see `command.as_object`."""
    kind = typing.get_type_hints(run, include_extras=True).get("return", Any)
    schema = _whole_schema(kind)
    if schema.get("type") == "object":
        return schema
    dialect, definitions = schema.pop("$schema"), schema.pop("$defs", {})
    if not schema or any(one.get("type", "object") == "object" for one in schema.get("anyOf", ())):
        return None  # it may be an object or not, so nothing holds of both forms
    wrapped = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return {"$schema": dialect, **wrapped, **({"$defs": definitions} if definitions else {})}


def _whole_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type, which says what it says at its top and not through a reference."""
    (schema,), components = msgspec.json.schema_components([kind], ref_template=_REFERENCE)
    name = schema.pop("$ref", "").removeprefix(_REFERENCE.format(name=""))
    if name:
        schema = {**components.pop(name), **schema}
        if f'"{_REFERENCE.format(name=name)}"'.encode() in msgspec.json.encode([schema, components]):
            raise TypeError(f"{name} is made of itself, which the schema of a command cannot say")
    for one in (schema, *components.values()):
        one.pop("title", None)
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return {**whole, "$defs": components} if components else whole
