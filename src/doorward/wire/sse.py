"""Server-sent events: how several messages travel in one HTTP answer."""

from __future__ import annotations

KEEP_ALIVE = b":\r\n\r\n"
"""A comment, which says nothing and keeps the connection from looking dead."""


def event(message: bytes) -> bytes:
    """One JSON message as an event. JSON as we write it has no line breaks, so one line carries it."""
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"
