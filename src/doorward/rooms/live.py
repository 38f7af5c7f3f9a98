"""What goes on in a room at this moment: whoever follows it is told at once. Of all this only messages are stored."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal, TypeVar

import msgspec

from doorward.clock import Clock
from doorward.rooms.message import Message
from doorward.rooms.rooms import Room

log = logging.getLogger(__name__)

ThinkingState = Literal["thinking", "waiting", "idle"]
V = TypeVar("V")

_BETWEEN_TYPING = 1.0
"""Seconds in which a member's typing is told once: keys are hit far more often than anybody looks."""
_MOST_TYPING = 1_000


class Posted(msgspec.Struct, frozen=True):
    """A message came, or is another than before: in both cases this is how it stands now."""

    message: Message


class Typing(msgspec.Struct, frozen=True):
    member: str


class Present(msgspec.Struct, frozen=True):
    """A member came, or nothing of theirs looks at the room any more."""

    member: str
    here: bool


class Draft(msgspec.Struct, frozen=True):
    """An AI's answer while it is written, as a whole so far. When it is done, a message stands in its place."""

    id: str
    sender: str
    text: str
    done: bool


class Thinking(msgspec.Struct, frozen=True):
    """What an AI does about the room: it thinks, it waits for somebody, or neither."""

    persona: str
    state: ThinkingState


Notice = Posted | Typing | Present | Draft | Thinking
Follower = Callable[[Notice], None]


class Live:
    """Tells followers of rooms what goes on there, in the order in which it happens.

    A follower must return at once; one that fails harms nobody else. What an AI is writing and thinking is kept while
    it lasts, so that whoever comes in the middle of it sees it, too.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._followers: dict[tuple[str, str], list[Follower]] = {}
        self._drafts: dict[tuple[str, str], dict[str, Draft]] = {}
        self._thinking: dict[tuple[str, str], dict[str, Thinking]] = {}
        self._typed: dict[tuple[str, str, str], float] = {}

    def follow(self, tenant: str, room: str, follower: Follower) -> Callable[[], None]:
        """Tell somebody of everything from now on; returns what ends that."""
        key = (tenant, room)
        self._followers.setdefault(key, []).append(follower)

        def leave() -> None:
            followers = self._followers.get(key, [])
            if follower in followers:
                followers.remove(follower)
            if not followers:
                self._followers.pop(key, None)

        return leave

    def now(self, tenant: str, room: str) -> list[Notice]:
        """What lasts at this moment: who thinks or waits, and what is being written."""
        key = (tenant, room)
        return [*self._thinking.get(key, {}).values(), *self._drafts.get(key, {}).values()]

    def posted(self, message: Message) -> None:
        self.tell(message.tenant, message.room, Posted(message))

    def typing(self, room: Room, member: str) -> None:
        """Tell that a member types; at most once a second, however often it is said."""
        key, now = (room.tenant, room.id, member), self._clock.steady()
        if now - self._typed.get(key, -_BETWEEN_TYPING) < _BETWEEN_TYPING:
            return
        if len(self._typed) >= _MOST_TYPING:
            self._typed.clear()
        self._typed[key] = now
        self.tell(room.tenant, room.id, Typing(member))

    def draft(self, room: Room, id: str, sender: str, text: str, *, done: bool = False) -> None:
        draft = Draft(id, sender, text, done)
        _keep(self._drafts, (room.tenant, room.id), id, None if done else draft)
        self.tell(room.tenant, room.id, draft)

    def thinking(self, room: Room, persona: str, state: ThinkingState) -> None:
        thinking = Thinking(persona, state)
        _keep(self._thinking, (room.tenant, room.id), persona, None if state == "idle" else thinking)
        self.tell(room.tenant, room.id, thinking)

    def tell(self, tenant: str, room: str, notice: Notice) -> None:
        for follower in tuple(self._followers.get((tenant, room), ())):
            try:
                follower(notice)
            except Exception:
                log.exception("a follower of a room failed")


def _keep(kept: dict[tuple[str, str], dict[str, V]], key: tuple[str, str], name: str, value: V | None) -> None:
    """Remember what lasts in a room under its name, or forget it; a room where nothing lasts is not remembered."""
    if value is not None:
        kept.setdefault(key, {})[name] = value
        return
    kept.get(key, {}).pop(name, None)
    if not kept.get(key):
        kept.pop(key, None)
