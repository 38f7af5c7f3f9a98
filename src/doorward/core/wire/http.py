"""MCP over HTTP: values repeated in headers, and server-sent events."""

from __future__ import annotations

import base64
import binascii
import re

_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
_BEFORE, _AFTER = "=?base64?", "?="


def encode_header(value: str) -> str:
    """Encode a value for a header: unchanged, or as Base64 if a header cannot carry it unchanged."""
    if _PLAIN.fullmatch(value) and not _is_encoded(value):
        return value
    return f"{_BEFORE}{base64.b64encode(value.encode()).decode()}{_AFTER}"


def decode_header(header: str) -> str:
    """Decode the value of a header; ValueError if it is not valid."""
    if not _is_encoded(header):
        if header and not _PLAIN.fullmatch(header):
            raise ValueError("it has characters that a header cannot carry")
        return header
    try:
        return base64.b64decode(header[len(_BEFORE) : -len(_AFTER)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError("it is not valid Base64 of UTF-8 text") from error


def _is_encoded(value: str) -> bool:
    return value.startswith(_BEFORE) and value.endswith(_AFTER) and len(value) >= len(_BEFORE) + len(_AFTER)


KEEP_ALIVE = b":\r\n\r\n"
"""An empty comment that keeps the connection alive."""


def encode_event(message: bytes) -> bytes:
    """Encode one JSON message as an event. Our JSON has no line breaks, so it fits on one line."""
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"
