"""Server-sent events of a server, read as they come in pieces: messages, and where to go on after a break."""

from __future__ import annotations

from doorward.upstream.framing import Lines, TooLong

_MARK = b"\xef\xbb\xbf"
_LONGEST_ID = 1_000
_LONGEST_PAUSE = 60.0


class Events:
    """Takes bytes and gives the messages that are whole. TooLong when one is larger than `most` bytes."""

    def __init__(self, most: int, last_id: str = "") -> None:
        self._lines = Lines(most)
        self._most = most
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0
        self._begun = False
        self.last_id = last_id
        """The mark of the newest event; empty when the server gives none."""
        self.pause: float | None = None
        """Seconds that the server wants to pass before somebody comes back."""

    def feed(self, piece: bytes) -> list[bytes]:
        if not self._begun:
            self._begun = True
            piece = piece.removeprefix(_MARK)
        found = []
        for line in self._lines.feed(piece):
            message = self._line(line.removesuffix(b"\r"))
            if message:
                found.append(message)
        return found

    def _line(self, line: bytes) -> bytes:
        if line:
            field, _, value = line.partition(b":")
            self._field(field, value.removeprefix(b" "))
            return b""
        data, name = b"\n".join(self._data), self._name
        self._data, self._name, self._size = [], b"", 0
        return data if name in (b"", b"message") else b""

    def _field(self, field: bytes, value: bytes) -> None:
        if field == b"data":
            self._size += len(value)
            if self._size > self._most:
                raise TooLong
            self._data.append(value)
        elif field == b"event":
            self._name = value
        elif field == b"id" and b"\0" not in value and len(value) <= _LONGEST_ID:
            self.last_id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) < 10:
            self.pause = min(int(value) / 1_000, _LONGEST_PAUSE)
