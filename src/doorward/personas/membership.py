"""Which rooms personas are put into. What counts for acting is the membership itself, which people can change."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable

import msgspec

from doorward.errors import Conflict, LedgerUnavailable
from doorward.events import Bus, RoomChanged
from doorward.facts import Role
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Member, Room, Rooms
from doorward.store import keepsakes
from doorward.store.sqlite import Store

log = logging.getLogger(__name__)

_AWAITED = "personas.awaited"
_ATTEMPTS = 5
"""How often a change of a room is tried that somebody else changes at the same time."""


class Memberships:
    """Puts personas into the rooms that their files name, and into those that do not exist yet once they do.

    Whom people took out of a room stays out of it until the file of the persona changes.
    """

    def __init__(self, rooms: Rooms, store: Store, events: Bus) -> None:
        self._rooms = rooms
        self._store = store
        self._awaited: dict[str, set[str]] = {}
        """The rooms by persona that are named and do not exist."""
        self._joining: asyncio.Task[None] | None = None
        events.subscribe(self._heard, RoomChanged)

    async def load(self) -> None:
        kept = await keepsakes.get(self._store, _AWAITED)
        self._awaited = {id: set(rooms) for id, rooms in json.loads(kept).items()} if kept else {}

    def awaited(self, persona: str) -> list[str]:
        """The rooms that a persona will be in as soon as there are such."""
        return sorted(self._awaited.get(persona, ()))

    async def follow(self, persona: str, before: Iterable[str], now: Iterable[str]) -> None:
        """Bring the memberships of a persona from what its file named before to what it names now."""
        for room in set(before) - set(now):
            await self._change(persona, room, joins=False)
        missing = {room for room in now if not await self._change(persona, room, joins=True)}
        for room in sorted(missing):
            log.warning("The persona %s names the room %s, which does not exist yet.", persona, room)
        await self._await(persona, missing)

    async def end(self, persona: str) -> None:
        """Take a persona that is gone out of every room: nobody would answer there."""
        for room in self._rooms.of(LOCAL):
            await self._change(persona, room.id, joins=False)
        await self._await(persona, set())

    async def settle(self) -> None:
        """Put personas into rooms that have come meanwhile."""
        for persona, names in list(self._awaited.items()):
            there = {name for name in names if await self._change(persona, name, joins=True)}
            if there:
                await self._await(persona, names - there)

    def _heard(self, event: RoomChanged) -> None:
        if event.tenant != LOCAL or not any(event.room in rooms for rooms in self._awaited.values()):
            return
        if self._rooms.get(LOCAL, event.room) is not None and (self._joining is None or self._joining.done()):
            self._joining = asyncio.get_running_loop().create_task(self._settle_or_log())

    async def _settle_or_log(self) -> None:
        try:
            await self.settle()
        except (Conflict, LedgerUnavailable) as error:
            log.warning("a persona could not be put into a room and will be at the next start: %s", error)

    async def _await(self, persona: str, rooms: set[str]) -> None:
        if rooms == self._awaited.get(persona, set()):
            return
        if rooms:
            self._awaited[persona] = rooms
        else:
            self._awaited.pop(persona, None)
        kept = json.dumps({id: sorted(names) for id, names in self._awaited.items()}, sort_keys=True)
        await self._store.write(keepsakes.put(_AWAITED, kept))

    async def _change(self, persona: str, name: str, *, joins: bool) -> bool:
        """Make it so; False when there is no such room."""
        for attempt in range(_ATTEMPTS):
            room = self._rooms.get(LOCAL, name)
            if room is None:
                return False
            members = _with(room, persona) if joins else _without(room, persona)
            if members == room.members:
                return True
            try:
                await self._rooms.change(msgspec.structs.replace(room, members=members))
                return True
            except Conflict:
                if attempt + 1 == _ATTEMPTS:
                    raise
        return False


def _with(room: Room, persona: str) -> dict[str, Member]:
    return {**room.members, persona: Member(persona, "ai", Role.MEMBER)}


def _without(room: Room, persona: str) -> dict[str, Member]:
    return {id: one for id, one in room.members.items() if id != persona}
