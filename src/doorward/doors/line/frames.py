"""Messages of the line protocol: lines from bytes, requests in; responses, errors and notifications out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from doorward.core import strictjson
from doorward.core.command import shorten
from doorward.core.errors import BadParams, DoorwardError, Effect, Failed


class OversizedLine(msgspec.Struct, frozen=True):
    """Stands for an oversized line."""

    beginning: bytes

    def __len__(self) -> int:
        return len(self.beginning)


class LineBuffer:
    __slots__ = ("_most", "_rest", "_skipping")

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = b""
        self._skipping = False
        """Whether the next bytes belong to an oversized line that was already reported."""

    def feed(self, data: bytes) -> Iterator[bytes | OversizedLine]:
        """The lines that this piece completes."""
        *whole, rest = data.split(b"\n")
        for line in whole:
            line, self._rest = self._rest + line, b""
            if self._skipping:
                self._skipping = False
            else:
                yield line if len(line) <= self._most else OversizedLine(line[: self._most])
        if not self._skipping:
            self._rest += rest
            if len(self._rest) > self._most:
                beginning = self._rest[: self._most]
                self._skipping, self._rest = True, b""
                yield OversizedLine(beginning)

    @property
    def size(self) -> int:
        """The bytes of the incomplete line."""
        return len(self._rest)

    @property
    def is_incomplete(self) -> bool:
        """Whether a line is incomplete."""
        return self._skipping or bool(self._rest)

    def take_rest(self) -> bytes:
        """The text after the last line break, at the end of input."""
        rest, self._rest, self._skipping = self._rest, b"", False
        return rest


Id = str | int
MAX_ID_LENGTH = 128
METHODS = ("initialize", "list_tools", "call_tool", "get_execution_status", "cancel_execution")
_KEYS = ("id", "method", "params", "token", "room")
_ROOM: dict[str, type] = {"room": str}
_encode = msgspec.json.Encoder().encode


class LineRequest(msgspec.Struct, frozen=True):
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
        self.has_token = False
        """Whether the line seems to contain a token."""


def parse_request(line: bytes) -> LineRequest:
    """Parse a request. Raises `BadLine` when the line is not valid."""
    try:
        body = strictjson.loads(line)
    except strictjson.NotJson as error:
        fault = BadLine(f"The line {error.verdict}: {error}.", hint=_SHAPE)
        fault.has_token = may_contain_token(line)
        raise fault from error
    if not isinstance(body, dict):
        raise BadLine(f"A request must be a JSON object; given {describe_value(body)}.", hint=_SHAPE)
    try:
        return _validate(body)
    except BadLine as fault:
        params = body.get("params")
        fault.has_token = "token" in body or (
            body.get("method") not in METHODS[1:] and isinstance(params, dict) and "token" in params
        )
        raise


def other_protocol(start: bytes, *, tls: bool) -> BadParams:
    """The error for a connection whose first bytes are not the start of a request."""
    what = "The first line is not a request"
    if start[:2] == b"\x16\x03" and not tls:
        what = "The client uses TLS, but this door has no certificate"
    return BadParams(f'{what}. Send one line of JSON such as {{"id":"1","method":"list_tools","params":{{}}}}.')


def may_contain_token(line: bytes) -> bool:
    """Whether a line that cannot be parsed may contain a token."""
    return b'"token"' in line


def _validate(body: dict[str, Any]) -> LineRequest:
    id = body.get("id")
    if type(id) is not int and (not isinstance(id, str) or not 0 < len(id) <= MAX_ID_LENGTH):
        raise BadLine(
            f"`id` must be a string of 1 to {MAX_ID_LENGTH} characters or an integer; "
            f"given {describe_value(id) if 'id' in body else 'none'}.",
            hint=_SHAPE,
        )
    for key in body:
        if key not in _KEYS:
            raise BadLine(f"Unknown key {shorten(key)}. A request has {', '.join(_KEYS)}.", id)
    method, params = body.get("method"), body.get("params")
    if method not in METHODS:
        given = describe_value(method) if "method" in body else "none"
        raise BadLine(f"Unknown method; valid: {', '.join(METHODS)}; given {given}.", id)
    if params is not None and not isinstance(params, dict):
        raise BadLine(f"`params` must be an object; given {describe_value(params)}.", id)
    params = params or {}
    if method != "initialize" and "token" not in body and "room" not in body:
        return LineRequest(id, method, params)
    beside, own = _read_token(body, id), _read_token(params, id) if method == "initialize" else ""
    if beside and own and beside != own:
        raise BadLine("The tokens beside `method` and in `params` differ. Send only one.", id)
    return LineRequest(id, method, params, beside or own, check_fields(body, id, _ROOM).get("room", ""))


def _read_token(shown: dict[str, Any], id: Id) -> str:
    """The token, or "" when the key is missing. An empty token is an error, because a variable may be unset."""
    token = shown.get("token", _NO_TOKEN)
    if token is _NO_TOKEN:
        return ""
    if not isinstance(token, str) or not token.strip():
        raise BadLine(f"`token` must be a non-empty string, or be left out; given {describe_type(token)}.", id)
    return token


def check_fields(params: dict[str, Any], id: Id, kinds: dict[str, type]) -> dict[str, Any]:
    """The parameters named in `kinds`, each checked for its type."""
    found = {}
    for key, kind in kinds.items():
        value = params.get(key)
        if value is None:
            continue
        if type(value) is not kind:
            raise BadLine(f"`{key}` must be {_TYPE_NAMES[kind]}; given {describe_value(value)}.", id)
        found[key] = value
    return found


def refuse_unknown(params: dict[str, Any], id: Id, method: str, valid: tuple[str, ...]) -> None:
    """Refuse unknown parameters, because one may be a typo."""
    for key in params:
        if key not in valid:
            raise BadLine(
                f"Unknown parameter {shorten(key)}. {method} takes {', '.join(valid) or 'no parameters'}.", id
            )


def encode_response(id: Id, result: Any) -> bytes:
    return _encode({"id": id, "type": "response", "result": result}) + b"\n"


def encode_error(id: Id | None, body: dict[str, Any]) -> bytes:
    return _encode({"id": id, "type": "error", "error": body}) + b"\n"


def encode_refusal(id: Id | None, fault: DoorwardError) -> bytes:
    """An error of the door itself, with the fields of an outcome."""
    return encode_error(id, _error_body(fault, "failed" if isinstance(fault, Failed) else "refused", fault.effect))


def encode_close_reason(fault: DoorwardError) -> bytes:
    """The reason why a connection is closed. It answers no call, so nothing ran."""
    return encode_error(None, _error_body(fault, "refused", "none"))


def _error_body(fault: DoorwardError, status: str, effect: Effect) -> dict[str, Any]:
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


def encode_notification(event: str, message: str, more: dict[str, Any]) -> bytes:
    return _encode({"id": None, "type": "notification", "event": event, "message": message, **more}) + b"\n"


def describe_value(value: Any) -> str:
    """A given value for an error message, as JSON."""
    if isinstance(value, str):
        return shorten(value)
    text = _encode(value).decode()
    return text if len(text) <= _MAX_DESCRIBED else f"{text[:_MAX_DESCRIBED]}… ({len(text)} characters)"


def describe_type(value: Any) -> str:
    """The type of a given value, for an error message, when the value may be secret."""
    if value is None or isinstance(value, bool):
        return describe_value(value)
    if isinstance(value, str):
        return "a string" if value else "an empty string"
    return "a number" if isinstance(value, int | float) else "a list" if isinstance(value, list) else "an object"


_MAX_DESCRIBED = 80
_NO_TOKEN: Any = object()
_TYPE_NAMES = {str: "a string", bool: "true or false", dict: "an object"}
_SHAPE = 'A request is one line such as {"id":"1","method":"list_tools","params":{}}.'
