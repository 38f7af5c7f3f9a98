"""Splits a server's output into messages: lines with a length limit, and server-sent events."""

from __future__ import annotations

from collections.abc import Iterator


class LineTooLong(Exception):
    """A line is longer than the limit."""


class LineFramer:
    """Collects the pieces of an unfinished line and joins them once."""

    __slots__ = ("_kept", "_most", "_parts")

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._kept = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that this piece completes, without line ends. TooLong is final."""
        if not self._parts and data.find(b"\n") == len(data) - 1:
            if len(data) > self._most + 1:
                raise LineTooLong
            return [data[:-1]]  # the usual case: one message in one piece
        *whole, rest = data.split(b"\n")
        if whole and self._parts:
            whole[0] = b"".join((*self._parts, whole[0]))
            self._parts.clear()
            self._kept = 0
        if rest:
            self._parts.append(rest)
            self._kept += len(rest)
        if self._kept > self._most or any(len(line) > self._most for line in whole):
            self._parts.clear()
            raise LineTooLong
        return whole

    def take_rest(self) -> bytes:
        """Return the text after the last line break, at the end of the stream."""
        rest = b"".join(self._parts)
        self._parts.clear()
        self._kept = 0
        return rest


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_ID = 1_000
_LONGEST_PAUSE = 60.0
_AT_ONCE = 16 * 1024


def split_piece(piece: bytes) -> Iterator[bytes]:
    """Split a piece of a stream into parts that are fast to parse even when they are all line ends."""
    if len(piece) <= _AT_ONCE:
        yield piece
    else:
        for at in range(0, len(piece), _AT_ONCE):
            yield piece[at : at + _AT_ONCE]


class EventStreamParser:
    """Takes bytes and returns complete messages. Raises TooLong for one larger than `most` bytes."""

    def __init__(self, most: int, last_id: str = "") -> None:
        self._lines = LineFramer(most)
        self._most = most
        self._name = b""
        self._data: bytes | bytearray | None = None
        self._begun = False
        self.last_id = last_id
        """The id of the newest event; empty when the server sends none."""
        self.retry_seconds: float | None = None
        """Seconds to wait before reconnecting, as the server requested."""
        self.idle_lines = 0
        """Lines since the last message."""

    def feed(self, piece: bytes) -> list[bytes]:
        if not self._begun:
            self._begun = True
            piece = piece.removeprefix(_BYTE_ORDER_MARK)
        found = []
        for line in self._lines.feed(piece):
            self.idle_lines += 1
            message = self._take_line(line.removesuffix(b"\r"))
            if message:
                self.idle_lines = 0
                found.append(message)
        return found

    def _take_line(self, line: bytes) -> bytes:
        if line:
            field, _, value = line.partition(b":")
            self._take_field(field, value.removeprefix(b" "))
            return b""
        data, name = self._data, self._name
        self._data, self._name = None, b""
        return bytes(data) if data and name in (b"", b"message") else b""

    def _take_field(self, field: bytes, value: bytes) -> None:
        if field == b"data":
            self._append_data(value)
        elif field == b"event":
            self._name = value
        elif field == b"id" and b"\0" not in value and len(value) <= _LONGEST_ID:
            self.last_id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) < 10:
            self.retry_seconds = min(int(value) / 1_000, _LONGEST_PAUSE)

    def _append_data(self, value: bytes) -> None:
        """Append a line of data. Most messages have one line, which is not copied."""
        data = self._data
        if data is None:
            self._data = value
        elif len(data) + 1 + len(value) > self._most:
            raise LineTooLong
        else:
            if not isinstance(data, bytearray):
                data = self._data = bytearray(data)
            data += b"\n"
            data += value
