"""Incremental parser for server-sent events."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from doorward.core.wire.lines import LineFramer, LineTooLong

EVENT_STREAM = "text/event-stream"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_ID = 1_000
_LONGEST_RETRY = 60.0


class SseEvent(msgspec.Struct, frozen=True):
    """One event. An event without a name is a comment, which servers send as a heartbeat."""

    name: str = ""
    data: bytes = b""
    id: str = ""
    """The newest id in the stream so far."""


HEARTBEAT = SseEvent()


class EventTooLarge(ValueError):
    """An event is larger than the maximum."""


class SseParser:
    """Parses events from bytes that arrive in arbitrary pieces."""

    def __init__(self, max_bytes: int, last_id: str = "") -> None:
        """`max_bytes` limits each line and the data of each event."""
        self._max_bytes = max_bytes
        self._lines = LineFramer(max_bytes)
        self._name = b""
        self._data: bytes | bytearray | None = None
        self._begun = False
        self.last_id = last_id
        """The id of the newest event; empty when the server sends none."""
        self.retry_seconds: float | None = None
        """Seconds to wait before reconnecting, as the server requested."""
        self.idle_lines = 0
        """Lines since the caller last set this to zero."""

    def feed(self, piece: bytes) -> Iterator[SseEvent]:
        """Yield the events that this piece completes. EventTooLarge is final."""
        if not self._begun:
            self._begun = True
            piece = piece.removeprefix(_BYTE_ORDER_MARK)
        try:
            lines = self._lines.feed(piece)
        except LineTooLong as error:
            raise self._too_large() from error
        for line in lines:
            self.idle_lines += 1
            event = self._parse_line(line.removesuffix(b"\r"))
            if event is not None:
                yield event

    def _parse_line(self, line: bytes) -> SseEvent | None:
        if line.startswith(b":"):
            return HEARTBEAT
        if line:
            field, _, value = line.partition(b":")
            self._set_field(field, value.removeprefix(b" "))
            return None
        name, data = self._name or b"message", self._data
        self._name, self._data = b"", None
        return None if data is None else SseEvent(name.decode("utf-8", "replace"), bytes(data), self.last_id)

    def _set_field(self, field: bytes, value: bytes) -> None:
        if field == b"data":
            self._append_data(value)
        elif field == b"event":
            self._name = value
        elif field == b"id" and b"\0" not in value and len(value) <= _LONGEST_ID:
            self.last_id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) < 10:
            self.retry_seconds = min(int(value) / 1_000, _LONGEST_RETRY)

    def _append_data(self, value: bytes) -> None:
        """Append a line of data. Most events have one line, which is not copied."""
        data = self._data
        if data is None:
            self._data = value
        elif len(data) + 1 + len(value) > self._max_bytes:
            raise self._too_large()
        else:
            if not isinstance(data, bytearray):
                data = self._data = bytearray(data)
            data += b"\n"
            data += value

    def _too_large(self) -> EventTooLarge:
        return EventTooLarge(f"an event is larger than {self._max_bytes} bytes")
