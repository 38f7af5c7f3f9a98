"""Messages of the line protocol: requests in; responses, errors and notifications out.

A doubtful line is refused: an unknown key may be a typo, and two parsers must never read one line differently.
"""

from __future__ import annotations

from typing import Any

import msgspec

from doorward import strictjson
from doorward.command import shortened
from doorward.errors import BadParams, DoorwardError, Effect, Failed

Id = str | int
LONGEST_ID = 128
METHODS = ("initialize", "list_tools", "call_tool", "get_execution_status", "cancel_execution")
_KEYS = ("id", "method", "params", "token", "room")
_ROOM: dict[str, type] = {"room": str}
_encode = msgspec.json.Encoder().encode


class Asked(msgspec.Struct, frozen=True):
    """A well-formed request."""

    id: Id
    method: str
    params: dict[str, Any]
    token: str = ""
    room: str = ""


class BadLine(BadParams):
    """A line that is not a valid request. Its id, if any, tells the client which line it was."""

    def __init__(self, message: str, id: Id | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.id = id
        self.shows_token = False
        """Whether the line seems to contain a token."""


def read(line: bytes) -> Asked:
    """Parse a request. Raises `BadLine` when the line is not valid."""
    try:
        body = strictjson.loads(line)
    except strictjson.NotJson as error:
        fault = BadLine(f"The line {error.verdict}: {error}.", hint=_SHAPE)
        fault.shows_token = may_show_token(line)
        raise fault from error
    if not isinstance(body, dict):
        raise BadLine(f"A request must be a JSON object; given {told(body)}.", hint=_SHAPE)
    try:
        return _asked(body)
    except BadLine as fault:
        params = body.get("params")
        fault.shows_token = "token" in body or (
            body.get("method") not in METHODS[1:] and isinstance(params, dict) and "token" in params
        )
        raise


def may_show_token(line: bytes) -> bool:
    """Whether a line that cannot be parsed may contain a token."""
    return b'"token"' in line


def _asked(body: dict[str, Any]) -> Asked:
    id = body.get("id")
    if type(id) is not int and (not isinstance(id, str) or not 0 < len(id) <= LONGEST_ID):
        raise BadLine(
            f"`id` must be a string of 1 to {LONGEST_ID} characters or an integer; "
            f"given {told(id) if 'id' in body else 'none'}.",
            hint=_SHAPE,
        )
    for key in body:
        if key not in _KEYS:
            raise BadLine(f"Unknown key {shortened(key)}. A request has {', '.join(_KEYS)}.", id)
    method, params = body.get("method"), body.get("params")
    if method not in METHODS:
        given = told(method) if "method" in body else "none"
        raise BadLine(f"Unknown method; valid: {', '.join(METHODS)}; given {given}.", id)
    if params is not None and not isinstance(params, dict):
        raise BadLine(f"`params` must be an object; given {told(params)}.", id)
    params = params or {}
    if method != "initialize" and "token" not in body and "room" not in body:
        return Asked(id, method, params)
    beside, own = _token(body, id), _token(params, id) if method == "initialize" else ""
    if beside and own and beside != own:
        raise BadLine("The tokens beside `method` and in `params` differ. Send only one.", id)
    return Asked(id, method, params, beside or own, fields(body, id, _ROOM).get("room", ""))


def _token(shown: dict[str, Any], id: Id) -> str:
    """The token, or "" when the key is missing. An empty token is an error, because a variable may be unset."""
    token = shown.get("token", _NO_TOKEN)
    if token is _NO_TOKEN:
        return ""
    if not isinstance(token, str) or not token.strip():
        raise BadLine(f"`token` must be a non-empty string, or be left out; given {kind(token)}.", id)
    return token


def fields(params: dict[str, Any], id: Id, kinds: dict[str, type]) -> dict[str, Any]:
    """The parameters named in `kinds`, each checked for its type."""
    found = {}
    for key, kind in kinds.items():
        value = params.get(key)
        if value is None:
            continue
        if type(value) is not kind:
            raise BadLine(f"`{key}` must be {_KINDS[kind]}; given {told(value)}.", id)
        found[key] = value
    return found


def known(params: dict[str, Any], id: Id, method: str, valid: tuple[str, ...]) -> None:
    """Refuse unknown parameters, because one may be a typo."""
    for key in params:
        if key not in valid:
            raise BadLine(
                f"Unknown parameter {shortened(key)}. {method} takes {', '.join(valid) or 'no parameters'}.", id
            )


def response(id: Id, result: Any) -> bytes:
    return _encode({"id": id, "type": "response", "result": result}) + b"\n"


def error(id: Id | None, body: dict[str, Any]) -> bytes:
    return _encode({"id": id, "type": "error", "error": body}) + b"\n"


def refusal(id: Id | None, fault: DoorwardError) -> bytes:
    """An error of the door itself, with the fields of an outcome."""
    return error(id, _body(fault, "failed" if isinstance(fault, Failed) else "refused", fault.effect))


def farewell(fault: DoorwardError) -> bytes:
    """The reason why a connection is closed. It answers no call, so nothing ran."""
    return error(None, _body(fault, "refused", "none"))


def _body(fault: DoorwardError, status: str, effect: Effect) -> dict[str, Any]:
    body: dict[str, Any] = {
        "code": fault.code,
        "message": fault.message,
        "status": status,
        "retry": fault.retry,
        "effect": effect,
    }
    body |= {name: said for name, said in (("hint", fault.hint), ("rule", fault.rule)) if said}
    if fault.retry_after is not None:
        body["retry_after"] = round(fault.retry_after, 3)
    return body


def notification(event: str, message: str, more: dict[str, Any]) -> bytes:
    return _encode({"id": None, "type": "notification", "event": event, "message": message, **more}) + b"\n"


def told(value: Any) -> str:
    """A given value for an error message, as JSON."""
    if isinstance(value, str):
        return shortened(value)
    text = _encode(value).decode()
    return text if len(text) <= _LONGEST_TOLD else f"{text[:_LONGEST_TOLD]}… ({len(text)} characters)"


def kind(value: Any) -> str:
    """The type of a given value, for an error message, when the value may be secret."""
    if value is None or isinstance(value, bool):
        return told(value)
    if isinstance(value, str):
        return "a string" if value else "an empty string"
    return "a number" if isinstance(value, int | float) else "a list" if isinstance(value, list) else "an object"


_LONGEST_TOLD = 80
_NO_TOKEN: Any = object()
_KINDS = {str: "a string", bool: "true or false", dict: "an object"}
_SHAPE = 'A request is one line such as {"id":"1","method":"list_tools","params":{}}.'
