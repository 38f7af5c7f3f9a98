"""Splits bytes that arrive in pieces into lines, with a limit on their length."""

from __future__ import annotations


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
        """Return the lines that this piece completes, without line ends. LineTooLong is final."""
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
