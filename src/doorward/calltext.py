"""Parameters written as text, `--key=value`, read by what the command's schema expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doorward import strictjson
from doorward.command import Command, shortened
from doorward.errors import BadParams

_WORDS = {"true": True, "false": False, "null": None}


def read_args(arguments: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Arguments of a command line as pairs: `--key=value`, or `--key` alone for `--key=true`."""
    pairs = []
    for argument in arguments:
        if not argument.startswith("--") or argument == "--":
            raise BadParams(f"Parameters are written --key=value; given {shortened(argument)}.")
        key, given, value = argument[2:].partition("=")
        pairs.append((key, value if given else "true"))
    return tuple(pairs)


def typed(command: Command, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Text parameters as values: a text stays a text where a text is wanted, and is read as JSON elsewhere."""
    params: dict[str, Any] = {}
    for key, text in pairs:
        if key in params:
            raise BadParams(f"{command.name}: parameter {shortened(key)} is given twice.")
        params[key] = _value(command, key, text)
    return params


def _value(command: Command, key: str, text: str) -> Any:
    spec = command.schema["properties"].get(key)
    kinds = _kinds(spec) if spec is not None else {"string"}
    if not kinds or kinds == {"string"}:
        return text if kinds else _json_or_text(text)
    if "string" not in kinds:
        try:
            return strictjson.loads(text)
        except strictjson.NotJson as error:
            raise BadParams(
                f"{command.name}: parameter {key} must be {' or '.join(sorted(kinds - {'null'}))}: {error}; "
                f"given {shortened(text)}."
            ) from error
    value = _json_or_text(text)
    return value if _is_one_of(value, kinds) else text


def _json_or_text(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    try:
        return strictjson.loads(text)
    except strictjson.NotJson:
        return text


def _kinds(spec: Mapping[str, Any]) -> set[str]:
    """The JSON types a schema accepts; empty when it accepts anything."""
    if "type" in spec:
        kind = spec["type"]
        return {kind} if isinstance(kind, str) else set(kind)
    if "enum" in spec:
        return {_kind_of(value) for value in spec["enum"]}
    if "anyOf" in spec:
        found = [_kinds(one) for one in spec["anyOf"]]
        return set().union(*found) if all(found) else set()
    return set()


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


def _is_one_of(value: Any, kinds: set[str]) -> bool:
    kind = _kind_of(value)
    return kind in kinds or (kind == "integer" and "number" in kinds)
