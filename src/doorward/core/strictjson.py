"""Strict JSON parser for everything that comes from outside.

Python's parser accepts NaN, duplicate keys, lone surrogates and numbers that overflow; msgspec accepts duplicate keys.
Each of those has been used to make two programs read one text differently.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

import msgspec

DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Every error that msgspec raises for bytes it cannot decode. DecodeError alone leaves out bytes that are not UTF-8."""
MAX_DEPTH = 64
MAX_BYTES = 16 * 1024 * 1024

_STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")
_DIGITS = bytes(ord("0") if chr(code) in "0123456789" else ord(" ") for code in range(256))
_MANY_DIGITS = b"0" * 19
_UNSURE = object()
_write = msgspec.json.Encoder().encode
_SURROGATE = re.compile("[\ud800-\udfff]")


class NotJson(ValueError):
    """The text is not strict JSON; the message says where and why."""

    verdict = "is not JSON"


class NotTaken(NotJson):
    """The text is valid JSON, but ambiguous or too large."""

    verdict = "is JSON that is not accepted here"


def loads(text: str | bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    if len(text) > max_bytes:
        raise NotTaken(f"the JSON text has {len(text)} bytes; the limit is {max_bytes}")
    if isinstance(text, bytes):
        value = _as_written(text, max_depth)
        if value is not _UNSURE:
            return value
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise NotJson(f"the JSON text is not UTF-8: byte {error.start} is wrong") from error
    _check_depth(text, max_depth)
    try:
        value = _DECODER.decode(text)
        _list([value])
        return value
    except json.JSONDecodeError as error:
        raise NotJson(f"not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise NotTaken(f"the JSON text nests too deeply; the limit is {max_depth} levels") from error


def _as_written(text: bytes, max_depth: int) -> Any:
    """Fast path for the form that most programs write.

    A text that msgspec decodes and encodes to the same bytes has no duplicate key, odd number or lone surrogate: each
    of those would change.
    """
    if text.count(b"[") + text.count(b"{") > max_depth or _MANY_DIGITS in text.translate(_DIGITS):
        return _UNSURE
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _UNSURE
    return value if _write(value) == text else _UNSURE


def _check_depth(text: str, limit: int) -> None:
    if text.count("[") + text.count("{") <= limit:
        return
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub('""', text)):
        depth += 1 if bracket in "[{" else -1
        if depth > limit:
            raise NotTaken(f"the JSON text nests too deeply; the limit is {limit} levels")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise NotTaken(f"the key {twice[:40]!r} appears twice in one object")
    for key, value in pairs:
        _text(key)
        if type(value) is list:
            _list(value)
        elif type(value) is str:
            _text(value)
    return result


def _list(values: list[Any]) -> None:
    for value in values:
        if type(value) is str:
            _text(value)
        elif type(value) is list:
            _list(value)


def _text(value: str) -> None:
    if not value.isascii() and _SURROGATE.search(value):
        raise NotTaken("a string holds a lone surrogate, which is not a character")


def _constant(word: str) -> NoReturn:
    raise NotJson(f"{word} is not a JSON number")


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise NotTaken(f"the number {digits[:40]} is too large")
    return value


def _int(digits: str) -> int:
    value = int(digits) if len(digits) <= 20 else None
    if value is None or not -(2**63) <= value < 2**63:
        raise NotTaken(f"the number {digits[:40]} is too large; integers have at most 64 bits")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int, strict=True
)
