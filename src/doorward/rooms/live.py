"""Live notices of a room: messages, typing, presence, drafts and thinking. Only messages are stored."""

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
"""The minimum seconds between two typing notices of a member."""
_MOST_TYPING = 1_000


class Posted(msgspec.Struct, frozen=True):
    """A message is new or changed; this is its current state."""

    message: Message


class Typing(msgspec.Struct, frozen=True):
    member: str


class Present(msgspec.Struct, frozen=True):
    """A member entered the room, or left it with their last client."""

    member: str
    here: bool


class Draft(msgspec.Struct, frozen=True):
    """An AI's answer while it is written: the whole text so far. When done, a message replaces it."""

    id: str
    sender: str
    text: str
    done: bool


class Thinking(msgspec.Struct, frozen=True):
    """The state of an AI in a room: thinking, waiting or idle."""

    persona: str
    state: ThinkingState


Notice = Posted | Typing | Present | Draft | Thinking
Follower = Callable[[Notice], None]


class Live:
    """Publishes notices to the followers of rooms, in order.

    A follower must return at once; its errors do not affect others. Current drafts and thinking states are kept, so
    that new followers see them too.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._followers: dict[tuple[str, str], list[Follower]] = {}
        self._drafts: dict[tuple[str, str], dict[str, Draft]] = {}
        self._thinking: dict[tuple[str, str], dict[str, Thinking]] = {}
        self._typed: dict[tuple[str, str, str], float] = {}

    def follow(self, tenant: str, room: str, follower: Follower) -> Callable[[], None]:
        """Subscribe to a room; return a function that unsubscribes."""
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
        """Return the current thinking states and drafts."""
        key = (tenant, room)
        return [*self._thinking.get(key, {}).values(), *self._drafts.get(key, {}).values()]

    def posted(self, message: Message) -> None:
        self.tell(message.tenant, message.room, Posted(message))

    def typing(self, room: Room, member: str) -> None:
        """Publish that a member types, at most once a second."""
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
    """Set or remove the current value of a name in a room; empty rooms are removed."""
    if value is not None:
        kept.setdefault(key, {})[name] = value
        return
    kept.get(key, {}).pop(name, None)
    if not kept.get(key):
        kept.pop(key, None)
