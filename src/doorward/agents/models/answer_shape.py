"""The shape of an answer: a JSON schema that is the union of the offered calls and an answer in words.

A provider that supports constrained decoding can only write what the schema allows, so a small model cannot invent a
tool or break a call. The schema is kept simple, because grammars of long or nested schemas are slow or refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema_rs
import msgspec

from doorward.agents.models.model import NativeCall, TextPiece, ToolSpec
from doorward.core import strictjson

NAME, ARGUMENTS, ANSWER = "name", "arguments", "answer"
_MAX_DEPTH = 6
"""Deeper schemas are not constrained, only the values around them."""
_MAX_LENGTH = 200
"""Longer limits on strings and lists are left out: grammars repeat a rule that often."""
_ANY: dict[str, Any] = {}
_KEPT = ("type", "enum", "const", "required")
_UNIONS = ("anyOf", "oneOf")
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")
_OPEN_ANSWER = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_OPEN_STRING = re.compile(r'((?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*)(?:\\(?:u[0-9a-fA-F]{0,3})?)?')
_HALF_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}$")


class NotShaped(Exception):
    """The text is not an answer of this shape."""


def build_shape(tools: Sequence[ToolSpec], *, answer_characters: int = 0, words_too: bool = True) -> dict[str, Any]:
    """Build the schema of an answer: one call of a tool, or words of at most so many characters (0: no limit).

    Without `words_too`, the answer must be a call.
    """
    words: dict[str, Any] = {"type": "string"}
    if answer_characters:
        words["maxLength"] = answer_characters
    calls = [
        _object({NAME: {"const": one.name}, ARGUMENTS: _simplify_arguments(one.schema)}, (NAME, ARGUMENTS))
        for one in tools
    ]
    return {"anyOf": [*calls, *([_object({ANSWER: words}, (ANSWER,))] if words_too or not calls else [])]}


def write_call(call: NativeCall) -> str:
    """Write a call as a model writes it in this shape, for the conversation that it is shown."""
    try:
        arguments = strictjson.loads(call.arguments) if call.arguments.strip() else {}
    except strictjson.NotJson:
        arguments = call.arguments
    return json.dumps({NAME: call.name, ARGUMENTS: arguments}, ensure_ascii=False)


def parse_shaped(text: str, shape: Mapping[str, Any]) -> NativeCall | TextPiece:
    """Parse an answer in this shape. Raises `NotShaped` for any other text: a provider may ignore the shape.

    Words that break off in the middle are returned as far as they go, as they would be without a shape. A call that
    breaks off is never returned.
    """
    try:
        value = strictjson.loads(text)
    except strictjson.NotJson:
        return _parse_open_answer(text)
    if not isinstance(value, dict) or not jsonschema_rs.is_valid(dict(shape), value):
        raise NotShaped
    if ANSWER in value:
        return TextPiece(value[ANSWER])
    arguments = msgspec.json.encode(value[ARGUMENTS]).decode()
    return NativeCall("call-1", value[NAME], arguments, in_text=True)


def _parse_open_answer(text: str) -> TextPiece:
    start = _OPEN_ANSWER.match(text)
    string = _OPEN_STRING.fullmatch(text, start.end()) if start else None
    if string is None:
        raise NotShaped
    try:
        said = strictjson.loads(f'"{_HALF_PAIR.sub("", string[1])}"')
    except strictjson.NotJson:
        raise NotShaped from None
    return TextPiece(str(said))


def _object(properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _simplify_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = _simplify(schema, schema.get("$defs") or {}, 0)
    return found if found.get("type") == "object" else {"type": "object"}


def _simplify(schema: Any, named: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Keep what a grammar can hold: types, properties, choices and short lengths, with references resolved."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return _ANY
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _simplify(named.get(reference.removeprefix("#/$defs/")), named, depth + 1)
    for union in _UNIONS:
        if isinstance(schema.get(union), list):
            parts = [_simplify(one, named, depth + 1) for one in schema[union]]
            return {"anyOf": parts} if all(parts) else _ANY
    kept = {key: schema[key] for key in _KEPT if key in schema}
    kept |= {key: schema[key] for key in _LENGTHS if isinstance(schema.get(key), int) and schema[key] <= _MAX_LENGTH}
    if isinstance(schema.get("properties"), Mapping):
        kept["properties"] = {key: _simplify(one, named, depth + 1) for key, one in schema["properties"].items()}
        kept["additionalProperties"] = False
    further = schema.get("additionalProperties")
    if isinstance(further, Mapping) or further is True:
        kept["additionalProperties"] = _simplify(further, named, depth + 1) or True
    if "items" in schema:
        kept["items"] = _simplify(schema["items"], named, depth + 1)
    return kept
