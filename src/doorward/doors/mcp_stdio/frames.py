"""Frames: one JSON-RPC message a line. What a relay must know of a message it peeks at; judging it is the door's."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec

from doorward.wire.ids import Id, is_id

LARGEST = 16 * 1024 * 1024
"""The longest message of a client, in bytes."""
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
NOT_SERVED = -32000
"""The error code of a request that the house behind a relay did not answer."""
_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")

Key: TypeAlias = tuple[str, Id]
"""An id that can be looked up: Python holds 1 and 1.0 for the same, and JSON-RPC does not."""


class Lines:
    """Cuts a stream into lines. One that grows too long is dropped, and stands as None among the others."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._rest = bytearray()
        self._dropping = False

    def feed(self, data: bytes) -> list[bytes | None]:
        found: list[bytes | None] = []
        looked = len(self._rest)
        self._rest += data
        begin = 0
        while (end := self._rest.find(b"\n", max(begin, looked))) >= 0:
            found.append(None if self._dropping or end - begin > self._largest else bytes(self._rest[begin:end]))
            self._dropping = False
            begin = end + 1
        del self._rest[:begin]
        if len(self._rest) > self._largest:
            self._dropping = True
            self._rest.clear()
        return found

    def end(self) -> list[bytes | None]:
        """What came behind the last line's end, when the stream is over."""
        if self._dropping:
            return [None]
        return [bytes(self._rest)] if self._rest else []


class Head(msgspec.Struct):
    """What stands at the top of a message."""

    id: Id | float | msgspec.UnsetType | None = msgspec.UNSET
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def key(self) -> Key | None:
        """What its answer will be known by; None where nothing is answered, or under no id."""
        return key(self.id) if is_id(self.id) else None


_head = msgspec.json.Decoder(Head).decode
_anything = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def key(id: Id) -> Key:
    return type(id).__name__, id


def peek(line: bytes) -> Head:
    """The top of a message; of a line that is none, nothing."""
    try:
        return _head(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Head()


def params(head: Head) -> dict[str, Any]:
    try:
        found = _anything(head.params)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def agent_name(head: Head) -> str:
    """The name that a client gives itself, as far as an agent can carry it; else nothing.

    It stands in `initialize`, or since 2026 in every request.
    """
    given = params(head)
    meta = given.get("_meta")
    for info in (given.get("clientInfo"), meta.get(_CLIENT_INFO) if isinstance(meta, dict) else None):
        name = info.get("name") if isinstance(info, dict) else None
        folded = "-".join(name.lower().split()) if isinstance(name, str) else ""
        if _AGENT.fullmatch(folded):
            return folded
    return ""


def error(id: Id | None, code: int, message: str, /, **data: Any) -> bytes:
    said: dict[str, Any] = {"code": code, "message": message}
    if data:
        said["data"] = data
    return _encode({"jsonrpc": "2.0", "id": id, "error": said})


def too_long() -> bytes:
    return error(None, INVALID_REQUEST, f"The message is too long; at most {LARGEST} bytes are read.")


def request(id: Id, method: str) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": id, "method": method})


def notification(method: str, /, **params: Any) -> bytes:
    return _encode({"jsonrpc": "2.0", "method": method, "params": params})
