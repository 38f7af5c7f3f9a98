"""The recent log of a server: its standard error, its MCP log messages and its protocol errors."""

from __future__ import annotations

from collections import deque

from doorward.clock import Clock, iso
from doorward.upstream.discretion import Discretion

_LINES = 500
_LONGEST = 500


class Journal:
    def __init__(self, clock: Clock, discretion: Discretion) -> None:
        self._clock = clock
        self._discretion = discretion
        self._kept: deque[tuple[float, str, str]] = deque(maxlen=_LINES)

    def note(self, source: str, line: str) -> None:
        self._kept.append((self._clock.now(), source, self._discretion.of(line, _LONGEST)))

    def lines(self) -> tuple[str, ...]:
        """The lines, oldest first, each with its time and source."""
        return tuple(f"{iso(at)} {source}: {line}" for at, source, line in self._kept)
