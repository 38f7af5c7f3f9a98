"""Server-sent events, which carry several messages in one HTTP response."""

from __future__ import annotations

KEEP_ALIVE = b":\r\n\r\n"
"""An empty comment that keeps the connection alive."""


def event(message: bytes) -> bytes:
    """Encode one JSON message as an event. Our JSON has no line breaks, so it fits on one line."""
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"
