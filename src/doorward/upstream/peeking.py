"""Quick looks into a message before it is parsed strictly: which request it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.wire.codes import HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION, WITH_SESSIONS
from doorward.wire.frames import failure
from doorward.wire.meta import VERSION

_LONGEST_EXCUSE = 300
_NEWER = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})


class _Error(msgspec.Struct):
    code: int
    message: str = ""
    data: Any = None


class _Top(msgspec.Struct):
    id: str | int | None = None
    method: str | None = None
    error: _Error | None = None


class _Words(msgspec.Struct):
    """Fields in which web services put the reason of an error."""

    error: Any = None
    message: Any = None
    detail: Any = None


_loose = msgspec.json.Decoder(_Words)
_top = msgspec.json.Decoder(_Top)


def spoken(params: Mapping[str, Any] | None) -> str:
    """The protocol version in a request's `_meta`; empty for versions with sessions."""
    meta = (params or {}).get("_meta")
    version = meta.get(VERSION) if isinstance(meta, Mapping) else None
    return version if isinstance(version, str) and version not in WITH_SESSIONS else ""


def answers(message: bytes, id: int) -> bool:
    try:
        top = _top.decode(message)
    except msgspec.DecodeError:
        return False
    return top.method is None and top.id == id


def refused(body: bytes, id: int) -> bytes | None:
    """The JSON-RPC error in an HTTP error response, as the response to this request; None when there is none.

    A server that refuses before it reads the request does not know the id. Error codes of the newer version are
    accepted without it, because they distinguish newer servers from older ones.
    """
    try:
        top = _top.decode(body)
    except msgspec.DecodeError:
        return None
    if top.error is None or top.method is not None:
        return None
    if top.id == id:
        return body.strip()
    if top.id is None and top.error.code in _NEWER:
        return failure(id, top.error.code, top.error.message, top.error.data)
    return None


def excuse(body: bytes, kind: str) -> str:
    """The human-readable text of an error response; empty when there is none."""
    if kind == "application/json":
        try:
            found = _loose.decode(body)
        except msgspec.DecodeError:
            return ""
        inner = found.error.get("message") if isinstance(found.error, dict) else found.error
        text = next((one for one in (inner, found.message, found.detail) if isinstance(one, str)), "")
    elif kind == "text/plain":
        text = body[: 4 * _LONGEST_EXCUSE].decode("utf-8", "replace")
    else:
        return ""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_EXCUSE else f"{line[:_LONGEST_EXCUSE]}…"
