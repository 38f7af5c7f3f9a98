"""Read calls in Python syntax: `data_list(collection="rooms", limit=5)`.

They are read only where markup announces a call. Nothing is evaluated: a value is JSON, a string in single quotes, or
True, False or None. Anything else is a fault.
"""

from __future__ import annotations

import re
from typing import Any

from doorward.agents.calls import json_calls
from doorward.agents.calls.parsed import CallMatch, ParsedCall, describe_fault
from doorward.agents.calls.scanner import Scanner
from doorward.core import strictjson

PYTHON_EXAMPLE = 'valid is data_list(collection="rooms")'

HEAD = re.compile(r"(?:print\(\s*+)?(?P<name>[A-Za-z_][A-Za-z0-9_./-]{0,199})\(")
_KEY = re.compile(r"\s*+(?P<key>[A-Za-z_][A-Za-z0-9_]*+)\s*+[=:]\s*+")
_NEXT = re.compile(r"\s*+(?P<mark>,?)\s*+(?P<end>\)?)")
_SINGLE = re.compile(r"'(?P<text>[^'\\\n]*+)'")
_DOUBLE = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9_.+-]++")
_TAIL = re.compile(r"[ \t]*+\)?[ \t]*+;?")
_WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}


class _Unreadable(Exception):
    pass


def read_call(page: Scanner, at: int) -> CallMatch | None:
    """Read the call that starts here, or return None."""
    head = page.match(HEAD, at)
    if head is None:
        return None
    try:
        params, end = _read_params(page, head.end())
    except _Unreadable as error:
        end = page.end_of_line(at)
        return CallMatch(end=end, faults=(describe_fault(str(error), PYTHON_EXAMPLE, page.text[at : at + 300]),))
    if head[0].startswith("print"):
        tail = page.match(_TAIL, end)
        end = tail.end() if tail else end
    read = json_calls.build_call(head["name"], params, page.text[at:end])
    if isinstance(read, ParsedCall):
        return CallMatch(end=end, calls=(read,))
    return CallMatch(end=end, faults=(read,))


def read_calls(page: Scanner, at: int, until: int) -> CallMatch | None:
    """Read calls up to a position: one per line, separated by commas or semicolons, or in a list. None if other text
    is found."""
    calls: list[ParsedCall] = []
    faults: list[str] = []
    place = page.match(_OPEN, at)
    here = place.end() if place else at
    while here < until:
        found = read_call(page, here)
        if found is None:
            return None
        calls += found.calls
        faults += found.faults
        between = page.match(_BETWEEN, found.end)
        here = between.end() if between else found.end
    return CallMatch(end=here, calls=tuple(calls), faults=tuple(faults)) if calls or faults else None


_OPEN = re.compile(r"\s*+\[?\s*+")
_BETWEEN = re.compile(r"(?:\s++|[,;\]])*+")


def _read_params(page: Scanner, at: int) -> tuple[dict[str, Any], int]:
    params: dict[str, Any] = {}
    closed = page.match(_NEXT, at)
    if closed and closed["end"] and not closed["mark"]:
        return params, closed.end()
    while True:
        key = page.match(_KEY, at)
        if key is None:
            raise _Unreadable("its arguments are not all written key=value, or it is cut off")
        if key["key"] in params:
            raise _Unreadable(f"the argument {key['key'][:40]!r} is given twice")
        params[key["key"]], at = _read_value(page, key.end())
        after = page.match(_NEXT, at)
        if after is None or not (after["mark"] or after["end"]):
            raise _Unreadable("it is cut off, or a value is not written as JSON")
        at = after.end()
        if after["end"]:
            return params, at


def _read_value(page: Scanner, at: int) -> tuple[Any, int]:
    if (single := page.match(_SINGLE, at)) is not None:
        return single["text"], single.end()
    if (double := page.match(_DOUBLE, at)) is not None:
        return _read_json(double[0]), double.end()
    if page.text[at : at + 1] in ("{", "["):
        end = page.end_of_json(at)
        if end < 0:
            raise _Unreadable("a bracket is never closed")
        return _read_json(page.text[at:end]), end
    plain = page.match(_PLAIN, at)
    if plain is None:
        raise _Unreadable("a value is not written as JSON")
    return (_WORDS[plain[0]] if plain[0] in _WORDS else _read_json(plain[0])), plain.end()


def _read_json(text: str) -> Any:
    try:
        return strictjson.loads(text)
    except strictjson.NotJson as error:
        raise _Unreadable(f"a value is not written as JSON: {error}") from error
