"""Server-sent events of a server, read as they come in pieces: messages, and where to go on after a break."""

from __future__ import annotations

from collections.abc import Iterator

from doorward.upstream.framing import Lines, TooLong

_MARK = b"\xef\xbb\xbf"
_LONGEST_ID = 1_000
_LONGEST_PAUSE = 60.0
_AT_ONCE = 16 * 1024


def parts(piece: bytes) -> Iterator[bytes]:
    """A piece of a stream, in parts of which each is read in a moment even if it is all line ends."""
    if len(piece) <= _AT_ONCE:
        yield piece
    else:
        for at in range(0, len(piece), _AT_ONCE):
            yield piece[at : at + _AT_ONCE]


class Events:
    """Takes bytes and gives the messages that are whole. TooLong when one is larger than `most` bytes."""

    def __init__(self, most: int, last_id: str = "") -> None:
        self._lines = Lines(most)
        self._most = most
        self._name = b""
        self._data: bytes | bytearray | None = None
        self._begun = False
        self.last_id = last_id
        """The mark of the newest event; empty when the server gives none."""
        self.pause: float | None = None
        """Seconds that the server wants to pass before somebody comes back."""
        self.idle = 0
        """Lines since the last message, which somebody has read for nothing so far."""

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
        """One more line of data, in as much memory as it has bytes; most messages are of one line, and not copied."""
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
