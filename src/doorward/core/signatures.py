"""JSON Schemas from the signature of a typed function: of its parameters and of its result."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from doorward.core import names

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/{name}"

Value = TypeVar("Value")

_annotations: dict[Any, dict[str, Any]] = {}
_parameters: dict[Any, tuple[tuple[dict[str, Any], ...], dict[str, Any]]] = {}
_results: dict[Any, dict[str, Any] | None] = {}
"""Caches. Schemas are never modified once they are handed out."""


def signature_schema(run: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The JSON Schema of a typed function's parameters (after the context), and wire name to argument name."""
    kinds = _kinds(run)
    parameters = list(inspect.signature(run).parameters.values())[1:]
    given = tuple(kinds[one.name] for one in parameters)
    schemas, definitions = _once(_parameters, given, lambda: _components(given))
    arguments: dict[str, str] = {}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter, schema in zip(parameters, schemas, strict=True):
        wire = names.to_camel(parameter.name)
        arguments[wire] = parameter.name
        if parameter.default is inspect.Parameter.empty:
            required.append(wire)
            properties[wire] = schema
        else:
            properties[wire] = {**schema, "default": msgspec.to_builtins(parameter.default, str_keys=True)}
    shape = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return _with({"$schema": _DIALECT, **shape}, definitions), arguments


def result_schema(run: Callable[..., Any]) -> dict[str, Any] | None:
    """The JSON Schema of a typed function's result as doors give it, always of an object; see `command.to_object`."""
    kind = _kinds(run).get("return", Any)
    return _once(_results, kind, lambda: _of_result(kind))


def _of_result(kind: Any) -> dict[str, Any] | None:
    schema = _whole_schema(kind)
    if schema.get("type") == "object":
        return schema
    dialect, definitions = schema.pop("$schema"), schema.pop("$defs", {})
    if not schema or any(one.get("type", "object") == "object" for one in schema.get("anyOf", ())):
        return None  # it may be an object or not, so there is no common schema
    wrapped = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return _with({"$schema": dialect, **wrapped}, definitions)


def _kinds(run: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of the parameters and the result, shared between functions made from the same code.

    The module is part of the key, since the same annotation can mean two things in two modules.
    """
    key = (run.__module__, getattr(run, "__code__", run), *getattr(run, "__annotations__", {}).items())
    return _once(_annotations, key, lambda: inspect.get_annotations(run, eval_str=True))


def _once(kept: dict[Any, Value], key: Any, make: Callable[[], Value]) -> Value:
    """Compute a value once per key; many functions have the same types."""
    try:
        if key not in kept:
            kept[key] = make()
        return kept[key]
    except TypeError:
        if _is_hashable(key):
            raise
        return make()  # an unhashable key is not cached


def _is_hashable(key: Any) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _whole_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type, inlined at its top instead of by reference."""
    (schema,), components = _components((kind,))
    name = schema.pop("$ref", "").removeprefix(_REFERENCE.format(name=""))
    if name:
        schema = {**components.pop(name), **schema}
        if f'"{_REFERENCE.format(name=name)}"'.encode() in msgspec.json.encode([schema, components]):
            raise TypeError(f"{name} is recursive, which the schema of a command cannot express")
    return _with({"$schema": _DIALECT, **schema}, components)


def _components(kinds: tuple[Any, ...]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """The schemas of types and the definitions that they refer to, without titles."""
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    for one in (*schemas, *components.values()):
        one.pop("title", None)
    return schemas, components


def _with(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "$defs": definitions} if definitions else schema
