"""Results as bytes, in the form that each era wants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward import __version__
from doorward.doors.mcp.versions import Era
from doorward.wire import meta as metas
from doorward.wire.shapes import Implementation, InputRequired, Shape

SERVER = Implementation(name="doorward", title="Doorward", version=__version__)

_encode = msgspec.json.Encoder().encode
_SERVER = msgspec.Raw(_encode(SERVER))
_BARE = _encode({metas.SERVER: _SERVER})
_FIRST = b'"resultType":"complete"'
_COMPLETE = _FIRST + b","
_SIGNED = b"," + _BARE[1:-1]


def result(era: Era, shape: Shape | Mapping[str, Any], *, meta: Mapping[str, Any] | None = None) -> bytes:
    """The result of a request that is done."""
    return _with(era, _encode(shape), b"", meta)


def text(words: str) -> bytes:
    """A list of blocks that is one text."""
    return b'[{"type":"text","text":%b}]' % _encode(words)


def done(era: Era, content: bytes, structured: bytes | None, code: str, call: str) -> bytes:
    """The result of a tool that did what it should, in the form that `result` would give it, written at once."""
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


def cacheable(era: Era, shape: Shape | Mapping[str, Any], fresh_ms: int) -> bytes:
    """The same for lists and resources, which clients may keep for a while. Everything here depends on who asks."""
    return _with(era, _encode(shape), b',"ttlMs":%d,"cacheScope":"private"' % fresh_ms, None)


def input_required(shape: InputRequired) -> bytes:
    """What the client must find out first (stateless era)."""
    return _joined(_encode(shape), b'"resultType":"input_required","_meta":' + _BARE)


def _with(era: Era, body: bytes, more: bytes, meta: Mapping[str, Any] | None) -> bytes:
    if era is Era.SESSIONS:
        return _joined(body, b'"_meta":' + _encode(meta)) if meta else body
    told = _encode({**meta, metas.SERVER: _SERVER}) if meta else _BARE
    return _joined(body, _FIRST + more + b',"_meta":' + told)


def _joined(body: bytes, more: bytes) -> bytes:
    return body[:-1] + (b"," if len(body) > 2 else b"") + more + b"}"
