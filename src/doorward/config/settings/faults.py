"""Descriptions of invalid settings: a clause with the setting, the valid values and the given value."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, get_args, get_origin

import msgspec

_WORDS = {"string": "a text", "boolean": "true or false", "object": "a table", "integer": "a whole number"}


def find_first_fault(given: Mapping[str, Any], kind: type[msgspec.Struct], path: str = "") -> str:
    """The first invalid setting of a table, as a clause; "" when all are valid."""
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in given.items():
        if name not in fields:
            return _describe_unknown(name, list(fields), path)
        if fault := _find_fault(value, fields[name], f"{path}{name}"):
            return fault
    return ""


def _find_fault(value: Any, kind: Any, path: str) -> str:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return (
            find_first_fault(value, kind, f"{path}.")
            if isinstance(value, dict)
            else _describe_wrong(path, "a table", value)
        )
    if get_origin(kind) is dict and isinstance(value, dict):
        name_kind, value_kind = get_args(kind)
        return _find_fault_in_named(value, name_kind, value_kind, path)
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return _describe_wrong(path, _describe_valid(msgspec.json.schema(kind)), value)
    return ""


def _find_fault_in_named(given: Mapping[str, Any], name_kind: Any, kind: Any, path: str) -> str:
    """The first fault of a table whose names the owner chooses."""
    for name, value in given.items():
        try:
            msgspec.convert(name, name_kind)
        except msgspec.ValidationError:
            pattern = msgspec.json.schema(name_kind)["pattern"]
            return f"{path} has the name {_render_value(name)}, which must match {pattern}"
        if fault := _find_fault(value, kind, f"{path}.{name}"):
            return fault
    return ""


def _describe_unknown(name: str, valid: list[str], path: str) -> str:
    what = f"the setting {path}{name[:80]}" if path else f"the table [{name[:80]}]"
    near = difflib.get_close_matches(name[:80], valid, n=1, cutoff=0.5)
    meant = f"did you mean {near[0]!r}? Valid" if near else "valid"
    return f"{what} is unknown; {meant}: {', '.join(valid)}"


def _describe_wrong(path: str, valid: str, value: Any) -> str:
    return f"{path} must be {valid}; given {_render_value(value)}"


def _describe_valid(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"one of {', '.join(map(repr, schema['enum']))}"
    if schema.get("type") == "array":
        return "a list of texts"
    words = _WORDS.get(str(schema.get("type")), "a number")
    least, above, most = (schema.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    if above is not None:
        words += f" above {above:,}"
    elif least is not None:
        words += f" from {least:,} to {most:,}" if most is not None else f" of at least {least:,}"
    return f"{words} and at most {most:,}" if above is not None and most is not None else words


def _render_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
