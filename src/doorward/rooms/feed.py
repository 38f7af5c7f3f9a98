"""The live feed of a room: messages, typing, presence, drafts and thinking. Only messages are stored."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Literal, TypeVar

import msgspec

from doorward.core.clock import Clock
from doorward.rooms.message import Message
from doorward.rooms.rooms import Room

log = logging.getLogger(__name__)

ThinkingState = Literal["thinking", "waiting", "idle"]
V = TypeVar("V")

_TYPING_INTERVAL = 1.0
"""The minimum seconds between two typing notices of a member."""
_MAX_TYPING = 1_000


class MessagePosted(msgspec.Struct, frozen=True):
    """A message is new or changed; this is its current state."""

    message: Message


class TypingIndicator(msgspec.Struct, frozen=True):
    member: str


class PresenceChanged(msgspec.Struct, frozen=True):
    """A member entered the room, or left it with their last client."""

    member: str
    here: bool


class DraftUpdated(msgspec.Struct, frozen=True):
    """An AI's answer while it is written: the whole text so far. When done, a message replaces it."""

    id: str
    sender: str
    text: str
    done: bool


class ThinkingChanged(msgspec.Struct, frozen=True):
    """The state of an AI in a room: thinking, waiting or idle."""

    persona: str
    state: ThinkingState


RoomNotice = MessagePosted | TypingIndicator | PresenceChanged | DraftUpdated | ThinkingChanged
RoomFollower = Callable[[RoomNotice], None]


class RoomFeed:
    """Publishes notices to the followers of rooms, in order.

    A follower must return at once; its errors do not affect others. Current drafts and thinking states are kept, so
    that new followers see them too.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._followers: dict[tuple[str, str], list[RoomFollower]] = {}
        self._drafts: dict[tuple[str, str], dict[str, DraftUpdated]] = {}
        self._thinking: dict[tuple[str, str], dict[str, ThinkingChanged]] = {}
        self._typed: dict[tuple[str, str, str], float] = {}

    def follow(self, tenant: str, room: str, follower: RoomFollower) -> Callable[[], None]:
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

    def current(self, tenant: str, room: str) -> list[RoomNotice]:
        """Return the current thinking states and drafts."""
        key = (tenant, room)
        return [*self._thinking.get(key, {}).values(), *self._drafts.get(key, {}).values()]

    def publish_message(self, message: Message) -> None:
        self.publish(message.tenant, message.room, MessagePosted(message))

    def publish_typing(self, room: Room, member: str) -> None:
        """Publish that a member types, at most once a second."""
        key, now = (room.tenant, room.id, member), self._clock.steady()
        if now - self._typed.get(key, -_TYPING_INTERVAL) < _TYPING_INTERVAL:
            return
        if len(self._typed) >= _MAX_TYPING:
            self._typed.clear()
        self._typed[key] = now
        self.publish(room.tenant, room.id, TypingIndicator(member))

    def publish_draft(self, room: Room, id: str, sender: str, text: str, *, done: bool = False) -> None:
        draft = DraftUpdated(id, sender, text, done)
        _set_current(self._drafts, (room.tenant, room.id), id, None if done else draft)
        self.publish(room.tenant, room.id, draft)

    def publish_thinking(self, room: Room, persona: str, state: ThinkingState) -> None:
        thinking = ThinkingChanged(persona, state)
        _set_current(self._thinking, (room.tenant, room.id), persona, None if state == "idle" else thinking)
        self.publish(room.tenant, room.id, thinking)

    def publish(self, tenant: str, room: str, notice: RoomNotice) -> None:
        for follower in tuple(self._followers.get((tenant, room), ())):
            try:
                follower(notice)
            except Exception:
                log.exception("a follower of a room failed")


def _set_current(kept: dict[tuple[str, str], dict[str, V]], key: tuple[str, str], name: str, value: V | None) -> None:
    """Set or remove the current value of a name in a room; empty rooms are removed."""
    if value is not None:
        kept.setdefault(key, {})[name] = value
        return
    kept.get(key, {}).pop(name, None)
    if not kept.get(key):
        kept.pop(key, None)


class Presence:
    """Counts the clients of each member in a room, and publishes when the first enters and the last leaves."""

    def __init__(self, live: RoomFeed) -> None:
        self._live = live
        self._here: dict[tuple[str, str], Counter[str]] = {}

    def enter(self, tenant: str, room: str, member: str) -> Callable[[], None]:
        """Add one client of a member; return a function that removes it (safe to call again)."""
        here = self._here.setdefault((tenant, room), Counter())
        here[member] += 1
        if here[member] == 1:
            self._live.publish(tenant, room, PresenceChanged(member, True))
        left = False

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                self._leave(tenant, room, member)

        return leave

    def present_members(self, tenant: str, room: str) -> set[str]:
        return set(self._here.get((tenant, room), ()))

    def _leave(self, tenant: str, room: str, member: str) -> None:
        here = self._here[tenant, room]
        here[member] -= 1
        if here[member]:
            return
        del here[member]
        if not here:
            del self._here[tenant, room]
        self._live.publish(tenant, room, PresenceChanged(member, False))
