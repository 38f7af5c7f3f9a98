"""Encodes results as bytes, in the form of each era."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward import __version__
from doorward.core.wire import meta as metas
from doorward.core.wire.types import Implementation, InputRequiredResult, McpStruct
from doorward.doors.mcp.versions import Era

SERVER = Implementation(name="doorward", title="Doorward", version=__version__)

_encode = msgspec.json.Encoder().encode
_SERVER = msgspec.Raw(_encode(SERVER))
_SERVER_META = _encode({metas.SERVER: _SERVER})
_FIRST = b'"resultType":"complete"'
_COMPLETE = _FIRST + b","
_SIGNED = b"," + _SERVER_META[1:-1]


def encode_result(era: Era, shape: McpStruct | Mapping[str, Any], *, meta: Mapping[str, Any] | None = None) -> bytes:
    """Encode the result of a finished request."""
    return _add_meta(era, _encode(shape), b"", meta)


def encode_text(words: str) -> bytes:
    """Encode a content list with one text block."""
    return b'[{"type":"text","text":%b}]' % _encode(words)


def encode_done(era: Era, content: bytes, structured: bytes | None, code: str, call: str) -> bytes:
    """Encode the result of a successful tool call, in the same form as `result` but in one step."""
    stateless = era is Era.STATELESS
    told = b'"doorward/status":"done","doorward/code":"%b","doorward/call":"%b"%b' % (
        code.encode(),
        call.encode(),
        _SIGNED if stateless else b"",
    )
    return b'{"content":%b%b,%b"_meta":{%b}}' % (
        content,
        b"" if structured is None else b',"structuredContent":%b' % structured,
        _COMPLETE if stateless else b"",
        told,
    )


def encode_cacheable(era: Era, shape: McpStruct | Mapping[str, Any], fresh_ms: int) -> bytes:
    """Encode a list or a resource that clients may cache. It is private, because it depends on the caller."""
    return _add_meta(era, _encode(shape), b',"ttlMs":%d,"cacheScope":"private"' % fresh_ms, None)


def encode_input_required(shape: InputRequiredResult) -> bytes:
    """Encode a result that asks the client for input (stateless era)."""
    return _join(_encode(shape), b'"resultType":"input_required","_meta":' + _SERVER_META)


def _add_meta(era: Era, body: bytes, more: bytes, meta: Mapping[str, Any] | None) -> bytes:
    if era is Era.SESSIONS:
        return _join(body, b'"_meta":' + _encode(meta)) if meta else body
    told = _encode({**meta, metas.SERVER: _SERVER}) if meta else _SERVER_META
    return _join(body, _FIRST + more + b',"_meta":' + told)


def _join(body: bytes, more: bytes) -> bytes:
    return body[:-1] + (b"," if len(body) > 2 else b"") + more + b"}"
