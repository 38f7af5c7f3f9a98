"""Bytes as they come in, cut into lines; a line that is too long is told of once and never kept whole."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec


class TooLong(msgspec.Struct, frozen=True):
    """Stands for a line that is too long."""

    beginning: bytes


class Lines:
    __slots__ = ("_most", "_rest", "_skipping")

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = b""
        self._skipping = False
        """Whether what comes belongs to a line that was too long, and that was said already."""

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        """The lines that this piece completes."""
        *whole, rest = data.split(b"\n")
        for line in whole:
            line, self._rest = self._rest + line, b""
            if self._skipping:
                self._skipping = False
            else:
                yield line if len(line) <= self._most else TooLong(line[: self._most])
        if not self._skipping:
            self._rest += rest
            if len(self._rest) > self._most:
                beginning = self._rest[: self._most]
                self._skipping, self._rest = True, b""
                yield TooLong(beginning)

    @property
    def half(self) -> bool:
        """Whether the rest of a line is still to come."""
        return self._skipping or bool(self._rest)

    def last(self) -> bytes:
        """What stands behind the last line break, when nothing more will come."""
        rest, self._rest, self._skipping = self._rest, b"", False
        return rest
