"""A buffer of the newest events, numbered, so that a client that reconnects gets what it missed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from doorward.core.events import Bus, Event
from doorward.core.ids import new_id

MOST = 1_000


class NumberedEvent(NamedTuple):
    number: int
    event: Event


Follower = Callable[[NumberedEvent], None]


class EventBuffer:
    """Event numbers count from the start of the process. An event id also names the process."""

    def __init__(self, bus: Bus, most: int = MOST) -> None:
        self._kept: deque[NumberedEvent] = deque(maxlen=most)
        self._number = 0
        self._process = new_id()
        self._followers: list[Follower] = []
        bus.subscribe(self._put)

    @property
    def number(self) -> int:
        """The number of the newest event."""
        return self._number

    def id(self, number: int) -> str:
        return f"{self._process}-{number}"

    def events_after(self, id: str) -> tuple[list[NumberedEvent], bool]:
        """The events after the one with this id, and whether none is missing."""
        process, _, digits = id.rpartition("-")
        if process != self._process or not (digits.isascii() and digits.isdecimal() and len(digits) < 18):
            return list(self._kept), False
        number = int(digits)
        oldest = self._kept[0].number if self._kept else self._number + 1
        if number > self._number:
            return list(self._kept), False
        return [one for one in self._kept if one.number > number], number + 1 >= oldest

    def newest(self, most: int) -> list[NumberedEvent]:
        return list(self._kept)[-most:] if most else []

    def follow(self, follower: Follower) -> Callable[[], None]:
        """Follow every event from now on. Returns a function that ends it."""
        self._followers.append(follower)
        return lambda: self._followers.remove(follower)

    def _put(self, event: Event) -> None:
        self._number += 1
        numbered = NumberedEvent(self._number, event)
        self._kept.append(numbered)
        for follower in tuple(self._followers):
            follower(numbered)
