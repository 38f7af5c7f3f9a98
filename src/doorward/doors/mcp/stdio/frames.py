"""Stdio frames: one JSON-RPC message per line. The relay only peeks at messages; the door validates them."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec

from doorward.core.strictjson import DECODE_ERRORS
from doorward.core.wire.ids import Id, is_id

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Longest message of a client, in bytes."""
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
NOT_SERVED = -32000
"""The error code of a request that the server process behind a relay did not answer."""
_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")

IdKey: TypeAlias = tuple[str, Id]
"""An id as a dictionary key: to Python 1 and 1.0 are equal, to JSON-RPC they are not."""


class LineSplitter:
    """Splits a stream into lines. A line that is too long is dropped, and None takes its place."""

    def __init__(self, largest: int = MAX_MESSAGE_BYTES) -> None:
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

    def flush(self) -> list[bytes | None]:
        """The rest after the last line break, when the stream is over."""
        if self._dropping:
            return [None]
        return [bytes(self._rest)] if self._rest else []


class MessageHead(msgspec.Struct):
    """The top-level fields of a message that the relay reads."""

    id: Id | float | msgspec.UnsetType | None = msgspec.UNSET
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def key(self) -> IdKey | None:
        """The key of the id; None if there is no valid one."""
        return id_key(self.id) if is_id(self.id) else None


_decode_head = msgspec.json.Decoder(MessageHead).decode
_decode_any = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def id_key(id: Id) -> IdKey:
    return type(id).__name__, id


def peek(line: bytes) -> MessageHead:
    """The head of a message; an empty head if the line is not a message."""
    try:
        return _decode_head(line)
    except DECODE_ERRORS:
        return MessageHead()


def read_params(head: MessageHead) -> dict[str, Any]:
    try:
        found = _decode_any(head.params)
    except DECODE_ERRORS:
        return {}
    return found if isinstance(found, dict) else {}


def read_agent_name(head: MessageHead) -> str:
    """The client's own name, if it is valid for an agent; else empty.

    It is in `initialize`, or since 2026-07-28 in every request.
    """
    given = read_params(head)
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
    return error(None, INVALID_REQUEST, f"The message is too long; the limit is {MAX_MESSAGE_BYTES} bytes.")


def request(id: Id, method: str) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": id, "method": method})


def notification(method: str, /, **params: Any) -> bytes:
    return _encode({"jsonrpc": "2.0", "method": method, "params": params})
