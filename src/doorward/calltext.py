"""Parameters written as text, `--key=value`, read by what the command's schema expects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from doorward import strictjson
from doorward.command import Command, shortened
from doorward.errors import BadParams

_KEY = re.compile(r"--(?P<key>[^\s=-][^\s=]*+)(?P<given>=?)")
_BETWEEN = re.compile(r"[^\S\n]*+(?:\\?\n[^\S\n]*+(?=--[^\s=-]))?")
"""Parameters may go on in the next line, but not behind an empty one."""
_WORD = re.compile(r"\S*+")
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_JSON_PARTS = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A text that is never closed goes to the end, so that no part of it is looked at twice."""
_ONE = re.compile(r"[^\s,\[{\"'][^\s,]*+")
"""A word that cannot mean several, nor JSON that went wrong."""
_WORDS = {"true": True, "false": False, "null": None}

Pair = tuple[str, str | None]
"""A parameter's name and the text of its value; None where only the name stands, which is a yes."""


def read_args(arguments: Sequence[str]) -> tuple[Pair, ...]:
    """Arguments of a command line as pairs: `--key=value`, or `--key` alone for a yes."""
    pairs: list[Pair] = []
    for argument in arguments:
        if not argument.startswith("--") or argument == "--":
            raise BadParams(f"Parameters are written --key=value; given {shortened(argument)}.")
        key, given, value = argument[2:].partition("=")
        pairs.append((key, value if given else None))
    return tuple(pairs)


def read_line(line: str) -> tuple[str, tuple[Pair, ...]]:
    """A call as models write it: `EXECUTE: data/list --collection=rooms --filter={"name": "a b"} --limit=10`.

    Values may be quoted (double quotes with JSON's escapes, single quotes as they are) or be a JSON object or list
    with blanks in it.
    """
    text = line.strip().removeprefix("EXECUTE:").strip()
    name, _, rest = text.partition(" ")
    pairs, end = read_pairs(rest, 0)
    if unread := rest[end:].strip():
        raise BadParams(f"Parameters are written --key=value; given {shortened(unread)}.")
    return name, pairs


def read_pairs(text: str, at: int) -> tuple[tuple[Pair, ...], int]:
    """The parameters that stand at a place in a text, and the place behind them."""
    pairs: list[Pair] = []
    value: str | None
    while (match := _KEY.match(text, _after(_BETWEEN, text, at))) is not None:
        value, at = _text_value(text, match.end()) if match["given"] else (None, match.end())
        pairs.append((match["key"], value))
    return tuple(pairs), at


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _text_value(text: str, at: int) -> tuple[str, int]:
    """The value that begins at a place in a text, and where it ends."""
    first = text[at : at + 1]
    if first == "'":
        end = text.find("'", at + 1)
        if end < 0:
            raise BadParams(f"A quote is opened and never closed: {shortened(text[at:])}.")
        return text[at + 1 : end], end + 1
    if first == '"':
        match = _QUOTED.match(text, at)
        if match is None:
            raise BadParams(f"A quote is opened and never closed: {shortened(text[at:])}.")
        return _unescaped(match[0]), match.end()
    if first in ("{", "["):
        end = end_of_json(text, at)
        if end < 0:
            raise BadParams(f"A bracket is opened and never closed: {shortened(text[at:])}.")
    else:
        end = _after(_WORD, text, at)
    return text[at:end], end


def _unescaped(quoted: str) -> str:
    try:
        return str(strictjson.loads(quoted))
    except strictjson.NotJson:
        return quoted[1:-1]


def end_of_json(text: str, at: int) -> int:
    """Where the object or list ends that begins at a place in a text; -1 when it never does."""
    depth = 0
    for match in _JSON_PARTS.finditer(text, at):
        if match[0] in "[{":
            depth += 1
        elif match[0] in "]}":
            depth -= 1
            if depth == 0:
                return match.end()
    return -1


def typed(command: Command, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Text parameters as values: a text stays a text where a text is wanted, and is read as JSON elsewhere.

    One word where a list of texts is wanted is a list of one.
    """
    params: dict[str, Any] = {}
    for key, text in pairs:
        if key in params:
            raise BadParams(f"{command.name}: parameter {shortened(key)} is given twice.")
        params[key] = _yes(command, key) if text is None else _value(command, key, text)
    return params


def _yes(command: Command, key: str) -> bool:
    """What a name by itself means. A name that the command does not know is refused as such, later."""
    spec = command.schema["properties"].get(key)
    kinds = _kinds(spec) if spec is not None else set()
    if kinds and "boolean" not in kinds:
        raise BadParams(f"{command.name}: parameter {key} needs a value, written --{key}=…; given only its name.")
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
                f"{command.name}: parameter {key} must be of type {wanted}{why}; given {shortened(text)}."
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
    """The JSON types a schema accepts; empty when it accepts anything."""
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
    """Whether a schema wants a list of texts, so that one word by itself can only mean a list of one."""
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
