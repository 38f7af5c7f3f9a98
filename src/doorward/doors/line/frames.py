"""Lines on the wire: a request as it must be, and the three kinds of lines that are sent.

A line that came in is refused when anything about it is doubtful: an unknown key may be a misspelt one, and two readers
of one text must never read two things.
"""

from __future__ import annotations

from typing import Any

import msgspec

from doorward import strictjson
from doorward.command import shortened
from doorward.errors import BadParams, DoorwardError

Id = str | int
LONGEST_ID = 128
METHODS = ("initialize", "list_tools", "call_tool", "get_execution_status", "cancel_execution")
_KEYS = ("id", "method", "params", "token", "room")
_SHOWN: dict[str, type] = {"token": str, "room": str}
_encode = msgspec.json.Encoder().encode


class Asked(msgspec.Struct, frozen=True):
    """One request, well formed."""

    id: Id
    method: str
    params: dict[str, Any]
    token: str = ""
    room: str = ""


class BadLine(BadParams):
    """A line that is no request. Its id is told where there is one, so that the client knows which line it was."""

    def __init__(self, message: str, id: Id | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.id = id


def read(line: bytes) -> Asked:
    """The request in a line, or a sentence that says what is wrong with it."""
    try:
        body = strictjson.loads(line)
    except strictjson.NotJson as error:
        raise BadLine(f"The line is not JSON: {error}.", hint=_SHAPE) from error
    if not isinstance(body, dict):
        raise BadLine(f"A request is a JSON object; given {shortened(body)}.", hint=_SHAPE)
    id = body.get("id")
    if type(id) is not int and (not isinstance(id, str) or not 0 < len(id) <= LONGEST_ID):
        raise BadLine(
            f"A request has an `id`, a text of 1 to {LONGEST_ID} characters or a whole number; "
            f"given {shortened(id) if 'id' in body else 'none'}.",
            hint=_SHAPE,
        )
    for key in body:
        if key not in _KEYS:
            raise BadLine(f"A request has no {shortened(key)}; valid: {', '.join(_KEYS)}.", id)
    method, params = body.get("method"), body.get("params")
    if method not in METHODS:
        given = shortened(method) if "method" in body else "none"
        raise BadLine(f"There is no such method; valid: {', '.join(METHODS)}; given {given}.", id)
    if params is not None and not isinstance(params, dict):
        raise BadLine(f"`params` is an object; given {shortened(params)}.", id)
    params = params or {}
    if method != "initialize" and "token" not in body and "room" not in body:
        return Asked(id, method, params)
    beside = fields(body, id, _SHOWN)
    own = fields(params, id, _SHOWN) if method == "initialize" else {}
    return Asked(id, method, params, beside.get("token") or own.get("token", ""), beside.get("room", ""))


def fields(params: dict[str, Any], id: Id, kinds: dict[str, type]) -> dict[str, Any]:
    """Those of the parameters that have a kind to be checked, each of that kind."""
    found = {}
    for key, kind in kinds.items():
        value = params.get(key)
        if value is None:
            continue
        if type(value) is not kind:
            raise BadLine(f"`{key}` is {_KINDS[kind]}; given {_told(key, value)}.", id)
        found[key] = value
    return found


def known(params: dict[str, Any], id: Id, method: str, valid: tuple[str, ...]) -> None:
    """Refuse parameters that a method does not have, since one of them may be a misspelt one."""
    for key in params:
        if key not in valid:
            raise BadLine(f"{method} has no parameter {shortened(key)}; valid: {', '.join(valid) or 'none'}.", id)


def response(id: Id, result: Any) -> bytes:
    return _encode({"id": id, "type": "response", "result": result}) + b"\n"


def error(id: Id | None, body: dict[str, Any]) -> bytes:
    return _encode({"id": id, "type": "error", "error": body}) + b"\n"


def refusal(id: Id | None, fault: DoorwardError) -> bytes:
    """An error of the door itself, in the words that outcomes use."""
    body: dict[str, Any] = {"code": fault.code, "message": fault.message, "retry": fault.retry}
    if fault.hint:
        body["hint"] = fault.hint
    if fault.retry_after is not None:
        body["retry_after"] = round(fault.retry_after, 3)
    return error(id, body)


def notification(event: str, message: str, more: dict[str, Any]) -> bytes:
    return _encode({"id": None, "type": "notification", "event": event, "message": message, **more}) + b"\n"


def _told(key: str, value: Any) -> str:
    """What was given, but never a token."""
    return f"a {type(value).__name__}" if key == "token" else shortened(value)


_KINDS = {str: "a text", bool: "true or false", dict: "an object"}
_SHAPE = 'A request is one line such as {"id":"1","method":"list_tools","params":{}}.'
