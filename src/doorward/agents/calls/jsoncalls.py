"""Read calls written as JSON, under the various keys that models use for a command and its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doorward import strictjson
from doorward.agents.calls.found import AS_JSON, Found, fault
from doorward.agents.calls.wanted import Wanted

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./:-]{0,199}")
"""The form of a command name; the registry resolves its spelling."""

_NAMES = ("name", "tool_name", "toolName", "tool", "function_name", "function", "command", "action", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "params", "input", "args", "action_input", "tool_input", "toolInput", "kwargs")
_ALONE = frozenset(("tool", "tool_name", "toolName", "function_name", "command"))
"""Keys under which a name alone, without arguments, is a call. `{"name": "Anna"}` is not one."""
_BESIDE = frozenset(("id", "call_id", "callId", "tool_call_id", "toolUseId", "type", "index", "thought", "reason"))
_NESTED = ("function", "command", "action", "tool", "function_call", "functionCall", "tool_call", "toolUse", "tool_use")
_LISTS = ("tool_calls", "toolCalls", "tool_uses", "function_calls", "calls", "actions", "content")
_AROUND = frozenset(("role", "content", "refusal", "thoughts", "finish_reason", "name", "stop_reason", "text"))
_PREFIXES = ("functions.", "function.", "tools.", "default_api.")
_LAST_WORDS = frozenset(("final answer", "final_answer"))
OPENS = (*_NAMES, *_LISTS, *_NESTED, *_ARGUMENTS, *sorted(_BESIDE | _AROUND))
"""The possible first keys of an object that is a call."""
_LOOKS = re.compile(
    rf"""["'](?:{"|".join((*_NAMES, *_LISTS, *_NESTED))})["']\s*+:(?s:.{{0,2000}}?)"""
    rf"""["'](?:{"|".join(_ARGUMENTS)})["']\s*+:"""
)


def looks_like_a_call(text: str) -> bool:
    """Whether unreadable text was meant as a call."""
    return _LOOKS.search(text[:4_000]) is not None


def read_json(text: str, end: int, *, marked: bool) -> Found:
    """Read the calls in a JSON text.

    With `marked`, the surrounding markup announces a call, so anything else is a fault. Otherwise the value must have
    exactly the keys of a call, or it is data and stays in the prose.
    """
    try:
        value = strictjson.loads(text)
    except strictjson.NotJson as error:
        if marked or looks_like_a_call(text):
            return Found(end=end, faults=(fault(str(error), AS_JSON, text),))
        return Found(end=end, kept=True)
    return in_value(value, text, end, marked=marked)


def in_value(value: Any, text: str, end: int, *, marked: bool) -> Found:
    last = _last_words(value)
    if last is not None:
        return Found(end=end, says=last)
    calls: list[Wanted] = []
    faults: list[str] = []
    for one in _each(value):
        read = _one(one, text, marked)
        if read is None and not marked:
            return Found(end=end, kept=True)
        if isinstance(read, Wanted):
            calls.append(read)
        else:
            faults.append(read or fault("it has no command name, or no arguments object", AS_JSON, text))
    if not calls and not faults:
        if marked:
            faults.append(fault("it holds no call", AS_JSON, text))
        else:
            return Found(end=end, kept=True)
    return Found(end=end, calls=tuple(calls), faults=tuple(faults))


def call(name: str, params: Any, raw: str, id: str = "") -> Wanted | str:
    """Build a call from a name and arguments (an object, its JSON text, or nothing), or return the fault."""
    name = _bare(name)
    if NAME.fullmatch(name) is None:
        return fault("that is not a command name", AS_JSON, name)
    if isinstance(params, str) and params.strip():
        try:
            params = strictjson.loads(params)
        except strictjson.NotJson as error:
            return fault(f"the arguments of {name} are not a JSON object: {error}", AS_JSON, params)
    if params is None or params == "":
        params = {}
    if not isinstance(params, dict):
        return fault(f"the arguments of {name} must be one JSON object", AS_JSON, raw)
    return Wanted(name=name, params=params, id=id, raw=raw)


def _bare(name: str) -> str:
    """Strip the prefixes that APIs put before a tool name."""
    name = name.strip()
    return next((name[len(prefix) :] for prefix in _PREFIXES if name.startswith(prefix)), name)


def _each(value: Any) -> list[Any]:
    """Return the candidate calls: the items of a list, the items inside a wrapper, or the value itself."""
    if isinstance(value, list):
        return [inner for one in value for inner in (_each(one) if _wraps(one) else [one])]
    if not isinstance(value, dict):
        return [value]
    for key in _LISTS:
        if isinstance(value.get(key), list) and set(value) <= {*_AROUND, *_BESIDE, key}:
            return [one for one in value[key] if not (isinstance(one, dict) and one.get("type") == "text")]
    return [value]


def _wraps(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in _LISTS)


def _one(value: Any, raw: str, marked: bool) -> Wanted | str | None:
    """Read one call; return the fault if it is invalid, or None if it is not a call."""
    if not isinstance(value, dict):
        return None
    for key in _NESTED:
        inner = value.get(key)
        if isinstance(inner, dict) and (marked or set(value) <= {*_BESIDE, *_AROUND, key}):
            read = _one(inner, raw, marked)
            return _with_id(read, _id(value))
    name_key = next((key for key in _NAMES if isinstance(value.get(key), str)), "")
    arguments_key = next((key for key in _ARGUMENTS if key in value), "")
    rest = set(value) - {name_key, arguments_key} - _BESIDE
    if not name_key or (rest and (not marked or not arguments_key)):
        return None
    if not arguments_key and not marked and (name_key not in _ALONE or NAME.fullmatch(value[name_key]) is None):
        return None
    return call(value[name_key], value.get(arguments_key), raw, _id(value))


def _with_id(read: Wanted | str | None, id: str) -> Wanted | str | None:
    if isinstance(read, Wanted) and not read.id:
        return Wanted(name=read.name, params=read.params, id=id, raw=read.raw)
    return read


def _id(value: Mapping[str, Any]) -> str:
    given = value.get("id", value.get("tool_call_id", value.get("toolUseId", "")))
    return given[:200] if isinstance(given, str) else ""


def _last_words(value: Any) -> str | None:
    """Return the text of a "final answer" action, which is an answer in the form of a call."""
    if not isinstance(value, dict) or str(value.get("action", "")).strip().lower() not in _LAST_WORDS:
        return None
    words = value.get("action_input")
    return words if isinstance(words, str) else None


def cut_off(text: str, end: int) -> Found:
    """Report a call with an unclosed bracket, whose arguments are incomplete."""
    why = "it is cut off: a bracket is never closed; nothing after it was read"
    return Found(end=end, faults=(fault(why, AS_JSON, text),))
