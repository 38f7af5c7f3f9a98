"""Incremental parser for server-sent events: messages, and the last event id for resuming."""

from __future__ import annotations

from collections.abc import Iterator

from doorward.upstream.framing import Lines, TooLong

_MARK = b"\xef\xbb\xbf"
_LONGEST_ID = 1_000
_LONGEST_PAUSE = 60.0
_AT_ONCE = 16 * 1024


def parts(piece: bytes) -> Iterator[bytes]:
    """Split a piece of a stream into parts that are fast to parse even when they are all line ends."""
    if len(piece) <= _AT_ONCE:
        yield piece
    else:
        for at in range(0, len(piece), _AT_ONCE):
            yield piece[at : at + _AT_ONCE]


class Events:
    """Takes bytes and returns complete messages. Raises TooLong for one larger than `most` bytes."""

    def __init__(self, most: int, last_id: str = "") -> None:
        self._lines = Lines(most)
        self._most = most
        self._name = b""
        self._data: bytes | bytearray | None = None
        self._begun = False
        self.last_id = last_id
        """The id of the newest event; empty when the server sends none."""
        self.pause: float | None = None
        """Seconds to wait before reconnecting, as the server requested."""
        self.idle = 0
        """Lines since the last message."""

    def feed(self, piece: bytes) -> list[bytes]:
        if not self._begun:
            self._begun = True
            piece = piece.removeprefix(_MARK)
        found = []
        for line in self._lines.feed(piece):
            self.idle += 1
            message = self._line(line.removesuffix(b"\r"))
            if message:
                self.idle = 0
                found.append(message)
        return found

    def _line(self, line: bytes) -> bytes:
        if line:
            field, _, value = line.partition(b":")
            self._field(field, value.removeprefix(b" "))
            return b""
        data, name = self._data, self._name
        self._data, self._name = None, b""
        return bytes(data) if data and name in (b"", b"message") else b""

    def _field(self, field: bytes, value: bytes) -> None:
        if field == b"data":
            self._more(value)
        elif field == b"event":
            self._name = value
        elif field == b"id" and b"\0" not in value and len(value) <= _LONGEST_ID:
            self.last_id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) < 10:
            self.pause = min(int(value) / 1_000, _LONGEST_PAUSE)

    def _more(self, value: bytes) -> None:
        """Append a line of data. Most messages have one line, which is not copied."""
        data = self._data
        if data is None:
            self._data = value
        elif len(data) + 1 + len(value) > self._most:
            raise TooLong
        else:
            if not isinstance(data, bytearray):
                data = self._data = bytearray(data)
            data += b"\n"
            data += value
