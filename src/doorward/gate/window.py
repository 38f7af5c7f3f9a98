"""When the calls of one caller were made, oldest first. Very many are kept, so each time takes eight bytes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

_FORGOTTEN = 64
"""So many forgotten times stay where they are before the others move up."""


class Window:
    __slots__ = ("_first", "_times")

    def __init__(self, times: Iterable[float] = ()) -> None:
        self._times = array("d", times)
        self._first = 0

    def __len__(self) -> int:
        return len(self._times) - self._first

    def __iter__(self) -> Iterator[float]:
        return iter(self._times[self._first :])

    def note(self, time: float) -> None:
        self._times.append(time)

    def forget(self, until: float) -> None:
        """Drop what was then, or before."""
        times, first = self._times, self._first
        count = len(times)
        while first < count and times[first] <= until:
            first += 1
        if first > _FORGOTTEN and first * 2 > count:
            del times[:first]
            first = 0
        self._first = first

    def newest(self, number: int = 1) -> float:
        """The time of the last call, or of the one that so many others, itself counted, end with."""
        return self._times[-number]

    def since(self, time: float) -> int:
        """How many were made after that."""
        times, count = self._times, 0
        while count < len(self) and times[-1 - count] > time:
            count += 1
        return count
