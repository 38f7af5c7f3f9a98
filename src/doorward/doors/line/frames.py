"""Lines on the wire: a request as it must be, and the three kinds of lines that are sent.

A line that came in is refused when anything about it is doubtful: an unknown key may be a misspelt one, and two readers
of one text must never read two things.
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
        self.shows_token = False
        """Whether the client meant to show a token with it, as far as can be told."""


def read(line: bytes) -> Asked:
    """The request in a line, or a sentence that says what is wrong with it."""
    try:
        body = strictjson.loads(line)
    except strictjson.NotJson as error:
        fault = BadLine(f"The line {error.verdict}: {error}.", hint=_SHAPE)
        fault.shows_token = may_show_token(line)
        raise fault from error
    if not isinstance(body, dict):
        raise BadLine(f"A request is a JSON object; given {told(body)}.", hint=_SHAPE)
    try:
        return _asked(body)
    except BadLine as fault:
        params = body.get("params")
        fault.shows_token = "token" in body or (
            body.get("method") not in METHODS[1:] and isinstance(params, dict) and "token" in params
        )
        raise


def may_show_token(line: bytes) -> bool:
    """Whether a line that cannot be read may have shown a token."""
    return b'"token"' in line


def _asked(body: dict[str, Any]) -> Asked:
    id = body.get("id")
    if type(id) is not int and (not isinstance(id, str) or not 0 < len(id) <= LONGEST_ID):
        raise BadLine(
            f"A request has an `id`, a text of 1 to {LONGEST_ID} characters or a whole number; "
            f"given {told(id) if 'id' in body else 'none'}.",
            hint=_SHAPE,
        )
    for key in body:
        if key not in _KEYS:
            raise BadLine(f"A request has no {shortened(key)}; valid: {', '.join(_KEYS)}.", id)
    method, params = body.get("method"), body.get("params")
    if method not in METHODS:
        given = told(method) if "method" in body else "none"
        raise BadLine(f"There is no such method; valid: {', '.join(METHODS)}; given {given}.", id)
    if params is not None and not isinstance(params, dict):
        raise BadLine(f"`params` is an object; given {told(params)}.", id)
    params = params or {}
    if method != "initialize" and "token" not in body and "room" not in body:
        return Asked(id, method, params)
    beside, own = _token(body, id), _token(params, id) if method == "initialize" else ""
    if beside and own and beside != own:
        raise BadLine("Two different tokens are shown, beside `method` and in `params`; show one.", id)
    return Asked(id, method, params, beside or own, fields(body, id, _ROOM).get("room", ""))


def _token(shown: dict[str, Any], id: Id) -> str:
    """A token as it must be. An empty one does not mean that there is none: it may be a variable that was not set."""
    token = shown.get("token", _NO_TOKEN)
    if token is _NO_TOKEN:
        return ""
    if not isinstance(token, str) or not token.strip():
        raise BadLine(f"`token` is a text that is not empty, or is left out; given {kind(token)}.", id)
    return token


def fields(params: dict[str, Any], id: Id, kinds: dict[str, type]) -> dict[str, Any]:
    """Those of the parameters that have a kind to be checked, each of that kind."""
    found = {}
    for key, kind in kinds.items():
        value = params.get(key)
        if value is None:
            continue
        if type(value) is not kind:
            raise BadLine(f"`{key}` is {_KINDS[kind]}; given {told(value)}.", id)
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
    return error(id, _body(fault, "failed" if isinstance(fault, Failed) else "refused", fault.effect))


def farewell(fault: DoorwardError) -> bytes:
    """Why a connection ends. It answers no call, so nothing ran for it."""
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
    """What was given, for a sentence: as JSON has it, so that null is null."""
    if isinstance(value, str):
        return shortened(value)
    text = _encode(value).decode()
    return text if len(text) <= _LONGEST_TOLD else f"{text[:_LONGEST_TOLD]}… ({len(text)} characters)"


def kind(value: Any) -> str:
    """What kind of thing was given, where the thing itself may be a secret."""
    if value is None or isinstance(value, bool):
        return told(value)
    if isinstance(value, str):
        return "a text" if value else "an empty text"
    return "a number" if isinstance(value, int | float) else "a list" if isinstance(value, list) else "an object"


_LONGEST_TOLD = 80
_NO_TOKEN: Any = object()
_KINDS = {str: "a text", bool: "true or false", dict: "an object"}
_SHAPE = 'A request is one line such as {"id":"1","method":"list_tools","params":{}}.'
