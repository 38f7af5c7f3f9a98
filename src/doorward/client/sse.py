"""Incremental parser for server-sent events."""

from __future__ import annotations

import msgspec

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Maximum bytes of one event."""


class SseEvent(msgspec.Struct, frozen=True):
    """One event. An event without a name is a heartbeat."""

    name: str = ""
    data: str = ""
    id: str = ""


HEARTBEAT = SseEvent()


class EventTooLarge(ValueError):
    """An event is larger than the maximum."""


class SseParser:
    """Parses events from bytes that arrive in arbitrary pieces."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self._id = ""

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Return the events completed by this piece."""
        self._rest += piece
        self._size += len(piece)
        if self._size > MAX_EVENT_BYTES:
            raise EventTooLarge(f"an event is larger than {MAX_EVENT_BYTES} bytes")
        if b"\n" not in piece:
            return []
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        found = []
        for line in lines:
            event = self._parse_line(line.removesuffix(b"\r").decode("utf-8", "replace"))
            if event is not None:
                found.append(event)
                self._size = len(self._rest)
        return found

    def _parse_line(self, line: str) -> SseEvent | None:
        if line.startswith(":"):
            return HEARTBEAT
        if line:
            field, _, value = line.partition(":")
            self._set_field(field, value.removeprefix(" "))
            return None
        if not self._data:
            self._name = ""
            return None
        event = SseEvent(self._name or "message", "\n".join(self._data), self._id)
        self._name, self._data = "", []
        return event

    def _set_field(self, field: str, value: str) -> None:
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif field == "id" and "\x00" not in value:
            self._id = value
