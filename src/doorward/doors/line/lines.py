"""Splits received bytes into lines. An oversized line is reported once and never stored whole."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec


class TooLong(msgspec.Struct, frozen=True):
    """Stands for an oversized line."""

    beginning: bytes


class Lines:
    __slots__ = ("_most", "_rest", "_skipping")

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = b""
        self._skipping = False
        """Whether the next bytes belong to an oversized line that was already reported."""

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
        """Whether a line is incomplete."""
        return self._skipping or bool(self._rest)

    def last(self) -> bytes:
        """The text after the last line break, at the end of input."""
        rest, self._rest, self._skipping = self._rest, b"", False
        return rest
