"""Calls written as JSON, in an answer's text or as native tool calls of a provider."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doorward.agents.calls.parsed import JSON_EXAMPLE, CallMatch, ParsedCall, describe_fault
from doorward.agents.models.model import NativeCall
from doorward.core import strictjson
from doorward.core.command import shorten

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./:-]{0,199}")
"""The form of a command name; the registry resolves its spelling."""

_NAMES = ("name", "tool_name", "toolName", "tool", "function_name", "function", "command", "action", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "params", "input", "args", "action_input", "tool_input", "toolInput", "kwargs")
_NAME_ONLY_KEYS = frozenset(("tool", "tool_name", "toolName", "function_name", "command"))
"""Keys under which a name alone, without arguments, is a call. `{"name": "Anna"}` is not one."""
_EXTRA_KEYS = frozenset(("id", "call_id", "callId", "tool_call_id", "toolUseId", "type", "index", "thought", "reason"))
_NESTED_KEYS = (
    "function",
    "command",
    "action",
    "tool",
    "function_call",
    "functionCall",
    "tool_call",
    "toolUse",
    "tool_use",
)
_LIST_KEYS = ("tool_calls", "toolCalls", "tool_uses", "function_calls", "calls", "actions", "content")
_WRAPPER_KEYS = frozenset(("role", "content", "refusal", "thoughts", "finish_reason", "name", "stop_reason", "text"))
_PREFIXES = ("functions.", "function.", "tools.", "default_api.")
_FINAL_ANSWERS = frozenset(("final answer", "final_answer"))
FIRST_KEYS = (*_NAMES, *_LIST_KEYS, *_NESTED_KEYS, *_ARGUMENTS, *sorted(_EXTRA_KEYS | _WRAPPER_KEYS))
"""The possible first keys of an object that is a call."""
_CALL_SHAPE = re.compile(
    rf"""["'](?:{"|".join((*_NAMES, *_LIST_KEYS, *_NESTED_KEYS))})["']\s*+:(?s:.{{0,2000}}?)"""
    rf"""["'](?:{"|".join(_ARGUMENTS)})["']\s*+:"""
)


def looks_like_call(text: str) -> bool:
    """Whether unreadable text was meant as a call."""
    return _CALL_SHAPE.search(text[:4_000]) is not None


def read_json(text: str, end: int, *, marked: bool) -> CallMatch:
    """Read the calls in a JSON text.

    With `marked`, the surrounding markup announces a call, so anything else is a fault. Otherwise the value must have
    exactly the keys of a call, or it is data and stays in the prose.
    """
    try:
        value = strictjson.loads(text)
    except strictjson.NotJson as error:
        if marked or looks_like_call(text):
            return CallMatch(end=end, faults=(describe_fault(str(error), JSON_EXAMPLE, text),))
        return CallMatch(end=end, kept=True)
    return read_value(value, text, end, marked=marked)


def read_value(value: Any, text: str, end: int, *, marked: bool) -> CallMatch:
    last = _read_final_answer(value)
    if last is not None:
        return CallMatch(end=end, says=last)
    calls: list[ParsedCall] = []
    faults: list[str] = []
    for one in _list_candidates(value):
        read = _read_one(one, text, marked)
        if read is None and not marked:
            return CallMatch(end=end, kept=True)
        if isinstance(read, ParsedCall):
            calls.append(read)
        else:
            faults.append(read or describe_fault("it has no command name, or no arguments object", JSON_EXAMPLE, text))
    if not calls and not faults:
        if marked:
            faults.append(describe_fault("it holds no call", JSON_EXAMPLE, text))
        else:
            return CallMatch(end=end, kept=True)
    return CallMatch(end=end, calls=tuple(calls), faults=tuple(faults))


def build_call(name: str, params: Any, raw: str, id: str = "") -> ParsedCall | str:
    """Build a call from a name and arguments (an object, its JSON text, or nothing), or return the fault."""
    name = _strip_prefix(name)
    if NAME.fullmatch(name) is None:
        return describe_fault("that is not a command name", JSON_EXAMPLE, name)
    if isinstance(params, str) and params.strip():
        try:
            params = strictjson.loads(params)
        except strictjson.NotJson as error:
            return describe_fault(f"the arguments of {name} are not a JSON object: {error}", JSON_EXAMPLE, params)
    if params is None or params == "":
        params = {}
    if not isinstance(params, dict):
        return describe_fault(f"the arguments of {name} must be one JSON object", JSON_EXAMPLE, raw)
    return ParsedCall(name=name, params=params, id=id, raw=raw)


def _strip_prefix(name: str) -> str:
    """Strip the prefixes that APIs put before a tool name."""
    name = name.strip()
    return next((name[len(prefix) :] for prefix in _PREFIXES if name.startswith(prefix)), name)


def _list_candidates(value: Any) -> list[Any]:
    """Return the candidate calls: the items of a list, the items inside a wrapper, or the value itself."""
    if isinstance(value, list):
        return [inner for one in value for inner in (_list_candidates(one) if _is_wrapper(one) else [one])]
    if not isinstance(value, dict):
        return [value]
    for key in _LIST_KEYS:
        if isinstance(value.get(key), list) and set(value) <= {*_WRAPPER_KEYS, *_EXTRA_KEYS, key}:
            return [one for one in value[key] if not (isinstance(one, dict) and one.get("type") == "text")]
    return [value]


def _is_wrapper(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in _LIST_KEYS)


def _read_one(value: Any, raw: str, marked: bool) -> ParsedCall | str | None:
    """Read one call; return the fault if it is invalid, or None if it is not a call."""
    if not isinstance(value, dict):
        return None
    for key in _NESTED_KEYS:
        inner = value.get(key)
        if isinstance(inner, dict) and (marked or set(value) <= {*_EXTRA_KEYS, *_WRAPPER_KEYS, key}):
            read = _read_one(inner, raw, marked)
            return _with_id(read, _get_id(value))
    name_key = next((key for key in _NAMES if isinstance(value.get(key), str)), "")
    arguments_key = next((key for key in _ARGUMENTS if key in value), "")
    rest = set(value) - {name_key, arguments_key} - _EXTRA_KEYS
    if not name_key or (rest and (not marked or not arguments_key)):
        return None
    if (
        not arguments_key
        and not marked
        and (name_key not in _NAME_ONLY_KEYS or NAME.fullmatch(value[name_key]) is None)
    ):
        return None
    return build_call(value[name_key], value.get(arguments_key), raw, _get_id(value))


def _with_id(read: ParsedCall | str | None, id: str) -> ParsedCall | str | None:
    if isinstance(read, ParsedCall) and not read.id:
        return ParsedCall(name=read.name, params=read.params, id=id, raw=read.raw)
    return read


def _get_id(value: Mapping[str, Any]) -> str:
    given = value.get("id", value.get("tool_call_id", value.get("toolUseId", "")))
    return given[:200] if isinstance(given, str) else ""


def _read_final_answer(value: Any) -> str | None:
    """Return the text of a "final answer" action, which is an answer in the form of a call."""
    if not isinstance(value, dict) or str(value.get("action", "")).strip().lower() not in _FINAL_ANSWERS:
        return None
    words = value.get("action_input")
    return words if isinstance(words, str) else None


def report_unclosed(text: str, end: int) -> CallMatch:
    """Report a call with an unclosed bracket, whose arguments are incomplete."""
    why = "it is cut off: a bracket is never closed; nothing after it was read"
    return CallMatch(end=end, faults=(describe_fault(why, JSON_EXAMPLE, text),))


def parse_native_call(asked: NativeCall) -> ParsedCall | str:
    """Return the call, or a sentence for the model that says why its arguments cannot be read.

    Empty arguments are valid: models send them for commands without parameters.
    """
    if not asked.arguments.strip():
        return ParsedCall(name=asked.name, params={}, id=asked.id)
    try:
        params = strictjson.loads(asked.arguments)
    except strictjson.NotJson as error:
        return (
            f"The call of {shorten(asked.name)} was not made: its arguments must be one JSON object; "
            f"{error}; given {shorten(asked.arguments)}."
        )
    if not isinstance(params, dict):
        return (
            f"The call of {shorten(asked.name)} was not made: its arguments must be one JSON object; "
            f"given {shorten(asked.arguments)}."
        )
    return ParsedCall(name=asked.name, params=params, id=asked.id, raw=asked.arguments)
