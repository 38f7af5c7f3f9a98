"""Bytes of a server's output, cut into lines; a line that is too long ends it, and is never kept whole."""

from __future__ import annotations


class TooLong(Exception):
    """A line is longer than it may be."""


class Lines:
    """Pieces of an unfinished line are kept as they came and put together once, however many they are."""

    __slots__ = ("_kept", "_most", "_parts")

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._kept = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that this piece completes, without their ends; TooLong as soon as one is, and then it is over."""
        if not self._parts and data.find(b"\n") == len(data) - 1:
            if len(data) > self._most + 1:
                raise TooLong
            return [data[:-1]]  # one message in one piece, as most are
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
            raise TooLong
        return whole

    def last(self) -> bytes:
        """What stands behind the last line break, when nothing more will come."""
        rest = b"".join(self._parts)
        self._parts.clear()
        self._kept = 0
        return rest
