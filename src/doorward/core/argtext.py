"""Parses parameters written as text, `--key=value`, by the command's schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from doorward.core import strictjson
from doorward.core.command import Command, shorten
from doorward.core.errors import BadParams
from doorward.core.escape_invisible import escape_invisible

_KEY = re.compile(r"--(?P<key>[^\s=-][^\s=]*+)(?P<given>=?)")
_BETWEEN = re.compile(r"[^\S\n]*+(?:\\?\n[^\S\n]*+(?=--[^\s=-]))?")
"""Parameters may continue on the next line, but not after an empty one."""
_WORD = re.compile(r"\S*+")
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_JSON_PARTS = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""An unclosed string matches to the end, so that nothing is scanned twice."""
_ONE = re.compile(r"[^\s,\[{\"'][^\s,]*+")
"""A single word: neither a list of several nor broken JSON."""
_WORDS = {"true": True, "false": False, "null": None}

Pair = tuple[str, str | None]
"""A parameter's name and the text of its value; None for a name alone, which means true."""


def parse_args(arguments: Sequence[str]) -> tuple[Pair, ...]:
    """Parse command-line arguments into pairs: `--key=value`, or `--key` alone for true."""
    pairs: list[Pair] = []
    for argument in arguments:
        if not argument.startswith("--") or argument == "--":
            raise BadParams(f"Write parameters as --key=value; given: {shorten(argument)}.")
        key, given, value = argument[2:].partition("=")
        pairs.append((key, value if given else None))
    return tuple(pairs)


def summarize_params(params: Mapping[str, Any], longest: int = 100) -> str:
    """Parameters on one short line, to tell calls of one command apart: `key=value`, or a single value alone.

    Empty values and zeros are left out, since most of them are defaults.
    """
    shown = {key: _summarize_value(value) for key, value in params.items() if value}
    text = " ".join(shown.values() if len(shown) == 1 else (f"{key}={value}" for key, value in shown.items()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _summarize_value(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = " ".join(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return escape_invisible(" ".join(text.split()), lines=False)


def parse_line(line: str) -> tuple[str, tuple[Pair, ...]]:
    """Parse a call as models write it: `EXECUTE: data/list --collection=rooms --filter={"name": "a b"} --limit=10`.

    Values may be quoted (double quotes with JSON's escapes, single quotes as they are) or be a JSON object or list
    with blanks in it.
    """
    text = line.strip().removeprefix("EXECUTE:").strip()
    name, _, rest = text.partition(" ")
    pairs, end = parse_pairs(rest, 0)
    if unread := rest[end:].strip():
        raise BadParams(f"Write parameters as --key=value; given: {shorten(unread)}.")
    return name, pairs


def parse_pairs(text: str, at: int) -> tuple[tuple[Pair, ...], int]:
    """Parse the parameters at a position in a text; also gives the position after them."""
    pairs: list[Pair] = []
    value: str | None
    while (match := _KEY.match(text, _match_end(_BETWEEN, text, at))) is not None:
        value, at = _text_value(text, match.end()) if match["given"] else (None, match.end())
        pairs.append((match["key"], value))
    return tuple(pairs), at


def _match_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _text_value(text: str, at: int) -> tuple[str, int]:
    """Parse the value at a position; also gives where it ends."""
    first = text[at : at + 1]
    if first == "'":
        end = text.find("'", at + 1)
        if end < 0:
            raise BadParams(f"A quote is not closed: {shorten(text[at:])}.")
        return text[at + 1 : end], end + 1
    if first == '"':
        match = _QUOTED.match(text, at)
        if match is None:
            raise BadParams(f"A quote is not closed: {shorten(text[at:])}.")
        return _unescaped(match[0]), match.end()
    if first in ("{", "["):
        end = find_json_end(text, at)
        if end < 0:
            raise BadParams(f"A bracket is not closed: {shorten(text[at:])}.")
    else:
        end = _match_end(_WORD, text, at)
    return text[at:end], end


def _unescaped(quoted: str) -> str:
    try:
        return str(strictjson.loads(quoted))
    except strictjson.NotJson:
        return quoted[1:-1]


def find_json_end(text: str, at: int) -> int:
    """Find the end of the JSON object or list at a position; -1 when it is not closed."""
    depth = 0
    for match in _JSON_PARTS.finditer(text, at):
        if match[0] in "[{":
            depth += 1
        elif match[0] in "]}":
            depth -= 1
            if depth == 0:
                return match.end()
    return -1


def convert_args(command: Command, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Convert text parameters to values: strings stay strings where the schema wants one, the rest is JSON.

    A single word for a list of strings becomes a list of one.
    """
    params: dict[str, Any] = {}
    for key, text in pairs:
        if key in params:
            raise BadParams(f"{command.name}: parameter {shorten(key)} is given twice.")
        params[key] = _flag_value(command, key) if text is None else _value(command, key, text)
    return params


def _flag_value(command: Command, key: str) -> bool:
    """The value of a name without a value. Unknown names are refused later."""
    spec = command.schema["properties"].get(key)
    kinds = _kinds(spec) if spec is not None else set()
    if kinds and "boolean" not in kinds:
        raise BadParams(f"{command.name}: parameter {key} needs a value: --{key}=…; given only its name.")
    return True


def _value(command: Command, key: str, text: str) -> Any:
    spec = command.schema["properties"].get(key)
    kinds = _kinds(spec) if spec is not None else {"string"}
    if not kinds or kinds == {"string"}:
        return text if kinds else _json_or_text(text)
    if "string" not in kinds:
        texts = kinds <= {"array", "null"} and _holds_texts(spec)
        try:
            value = strictjson.loads(text)
        except strictjson.NotJson as error:
            if texts and _ONE.fullmatch(text):
                return [text]
            wanted = " or ".join(sorted(kinds - {"null"}))
            why = f": {error}" if kinds & {"array", "object"} else ""
            raise BadParams(
                f"{command.name}: parameter {key} must be of type {wanted}{why}; given {shorten(text)}."
            ) from error
        return [text] if texts and isinstance(value, (int, float)) else value
    value = _json_or_text(text)
    return value if _is_one_of(value, kinds) else text


def _json_or_text(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    try:
        return strictjson.loads(text)
    except strictjson.NotJson:
        return text


def _kinds(spec: Mapping[str, Any] | bool) -> set[str]:
    """The JSON types that a schema accepts; empty when it accepts anything."""
    if isinstance(spec, bool):
        return set()
    if "type" in spec:
        kind = spec["type"]
        return {kind} if isinstance(kind, str) else set(kind)
    if "enum" in spec:
        return {_kind_of(value) for value in spec["enum"]}
    if "anyOf" in spec:
        found = [_kinds(one) for one in spec["anyOf"]]
        return set().union(*found) if all(found) else set()
    return set()


def _holds_texts(spec: Mapping[str, Any] | bool | None) -> bool:
    """Whether a schema wants a list of strings, so that a single word means a list of one."""
    if not isinstance(spec, Mapping):
        return False
    lists = [one for one in (spec, *spec.get("anyOf", ())) if isinstance(one, Mapping) and "items" in one]
    return any(_kinds(one["items"]) == {"string"} for one in lists)


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


def _is_one_of(value: Any, kinds: set[str]) -> bool:
    kind = _kind_of(value)
    return kind in kinds or (kind == "integer" and "number" in kinds)
