"""JSON-RPC frames, one message each: parsed strictly, and written from parts.

Strict means: strict JSON, one message and no batch, exact keys and no others. A guard is fooled when two programs read
one frame differently, so an ambiguous frame is refused.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from doorward.core import strictjson
from doorward.core.wire.codes import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from doorward.core.wire.ids import MAX_LENGTH, Id, is_id

_REQUEST = frozenset({"jsonrpc", "id", "method", "params"})
_RESPONSE = frozenset({"jsonrpc", "id", "result", "error"})
_encode = msgspec.json.Encoder().encode


class WireError(Exception):
    """An error answer: a code, a message and optional data."""

    def __init__(self, code: int, message: str, data: Any = None, id: Id | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.id = id

    def frame(self, id: Id | None = None) -> bytes:
        return failure(id if id is not None else self.id, self.code, self.message, self.data)


class WireRequest(msgspec.Struct, frozen=True):
    id: Id
    method: str
    params: dict[str, Any]


class WireNotification(msgspec.Struct, frozen=True):
    method: str
    params: dict[str, Any]


class WireResponse(msgspec.Struct, frozen=True):
    """The answer to a request from this side; `error` is None on success."""

    id: Id
    result: dict[str, Any]
    error: dict[str, Any] | None = None


Frame = WireRequest | WireNotification | WireResponse


def parse_frame(text: bytes, max_bytes: int = strictjson.MAX_BYTES) -> Frame:
    """Parse a frame; an invalid one raises a WireError that can be sent back as it is."""
    try:
        value = strictjson.loads(text, max_bytes=max_bytes)
    except strictjson.NotJson as error:
        raise WireError(PARSE_ERROR, f"The message {error.verdict}: {error}.") from error
    if type(value) is not dict:
        if isinstance(value, list):
            raise WireError(INVALID_REQUEST, "Batches are not supported; send each message as its own frame.")
        raise WireError(INVALID_REQUEST, "A message must be one JSON object; given another JSON value.")
    if "method" in value:
        return _parse_request(value)
    return _parse_response(value)


def _parse_request(value: dict[str, Any]) -> WireRequest | WireNotification:
    id = value.get("id")
    known = id if is_id(id) else None
    method, params = value["method"], value.get("params")
    _check_envelope(value, _REQUEST, known)
    if type(method) is not str or not method or len(method) > 200:
        raise WireError(INVALID_REQUEST, "`method` must be a string of 1 to 200 characters.", id=known)
    if params is None and "params" not in value:
        params = {}
    elif type(params) is not dict:
        raise WireError(INVALID_REQUEST, f"{method}: `params` must be an object.", id=known)
    if "id" not in value:
        return WireNotification(method, params)
    if known is None:
        raise WireError(
            INVALID_REQUEST,
            f"{method}: `id` must be a string of at most {MAX_LENGTH} characters or an integer, and not null.",
        )
    return WireRequest(known, method, params)


def _parse_response(value: dict[str, Any]) -> WireResponse:
    id = value.get("id")
    if "result" not in value and "error" not in value:
        raise WireError(
            INVALID_REQUEST,
            "The message has neither `method` nor `result` nor `error`, so it is not a JSON-RPC message.",
            id=id if is_id(id) else None,
        )
    _check_envelope(value, _RESPONSE, None)
    if not is_id(id):
        raise WireError(INVALID_REQUEST, "A response must have the `id` of the request that it answers.")
    result, error = value.get("result"), value.get("error")
    if ("result" in value) == ("error" in value):
        raise WireError(INVALID_REQUEST, "A response must have either `result` or `error`, and not both.")
    if "error" in value:
        if type(error) is not dict or type(error.get("code")) is not int or type(error.get("message")) is not str:
            raise WireError(
                INVALID_REQUEST, "`error` must be an object with `code`, an integer, and `message`, a string."
            )
        return WireResponse(id, {}, error)
    if type(result) is not dict:
        raise WireError(INVALID_REQUEST, "`result` must be an object.")
    return WireResponse(id, result)


def _check_envelope(value: dict[str, Any], known: frozenset[str], id: Id | None) -> None:
    if value.get("jsonrpc") != "2.0":
        raise WireError(INVALID_REQUEST, '`jsonrpc` must be "2.0".', id=id)
    if not known.issuperset(value):
        unknown = next(key for key in value if key not in known)
        raise WireError(
            INVALID_REQUEST,
            f"The message has an unknown key {unknown[:40]!r}; valid: {', '.join(sorted(known))}.",
            id=id,
        )


def refuse_lookalikes(params: Mapping[str, Any], known: Iterable[str], method: str) -> None:
    """Refuse a key that only looks like a known one. Other unknown keys belong to extensions and are ignored."""
    for key in params:
        if key not in known:
            folded = unicodedata.normalize("NFKC", key).casefold()
            for name in known:
                if folded == name.casefold():
                    raise WireError(INVALID_PARAMS, f"{method}: unknown parameter {key[:40]!r}; did you mean {name!r}?")


def answer(id: Id, result: bytes) -> bytes:
    """A response frame with a result that is already JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_encode(id), result)


def failure(id: Id | None, code: int, message: str, data: Any = None) -> bytes:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (_encode(id), _encode(error))


def notification(method: str, params: Any = None) -> bytes:
    if params is None:
        return b'{"jsonrpc":"2.0","method":%b}' % _encode(method)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (_encode(method), _encode(params))


def request(id: Id, method: str, params: Any = None) -> bytes:
    """A request frame."""
    if params is None:
        return b'{"jsonrpc":"2.0","id":%b,"method":%b}' % (_encode(id), _encode(method))
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (_encode(id), _encode(method), _encode(params))
