"""The last lines about a server: what it wrote on its standard error, logged by the protocol, and did wrong."""

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
        """Oldest first, each with its time and where it is from."""
        return tuple(f"{iso(at)} {source}: {line}" for at, source, line in self._kept)
