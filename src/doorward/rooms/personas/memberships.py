"""Add personas to the rooms that their files name. People can change these memberships like any other."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Collection, Mapping

import msgspec

from doorward.core.classification import Role
from doorward.core.errors import Conflict, LedgerUnavailable
from doorward.core.events import Bus, RoomChanged
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Member, Rooms
from doorward.store import kv
from doorward.store.sqlite import Store

log = logging.getLogger(__name__)

_AWAITED_KEY = "personas.awaited"
_ATTEMPTS = 5
"""Attempts to change a room that somebody else changes at the same time."""


class PersonaMemberships:
    """Adds personas to the rooms that their files name; rooms that do not exist yet are joined once they do.

    A persona that people removed from a room stays out until its file changes.
    """

    def __init__(self, rooms: Rooms, store: Store, events: Bus) -> None:
        self._rooms = rooms
        self._store = store
        self._awaited: dict[str, set[str]] = {}
        """By persona: named rooms that do not exist yet."""
        self._joining: asyncio.Task[None] | None = None
        events.subscribe(self._on_room_changed, RoomChanged)

    async def load(self) -> None:
        kept = await kv.get(self._store, _AWAITED_KEY)
        self._awaited = {id: set(rooms) for id, rooms in json.loads(kept).items()} if kept else {}

    def awaited_rooms(self, persona: str) -> list[str]:
        """List the rooms that a persona joins once they exist."""
        return sorted(self._awaited.get(persona, ()))

    async def apply_changes(self, changes: Mapping[str, tuple[Collection[str], Collection[str]]]) -> None:
        """Apply changed files. `changes` maps a persona to its rooms before and now."""
        joins: dict[str, set[str]] = {}
        leaves: dict[str, set[str]] = {}
        for persona, (before, now) in changes.items():
            for room in now:
                joins.setdefault(room, set()).add(persona)
            for room in set(before) - set(now):
                leaves.setdefault(room, set()).add(persona)
        missing = set()
        for room in sorted({*joins, *leaves}):
            if not await self._change_members(room, joins.get(room, set()), leaves.get(room, set())):
                missing.add(room)
        awaited = dict(self._awaited)
        for persona, (_, now) in changes.items():
            for room in sorted(missing.intersection(now)):
                log.warning("The persona %s names the room %s, which does not exist or is archived.", persona, room)
            awaited[persona] = missing.intersection(now)
        await self._store_awaited(awaited)

    async def remove_personas(self, personas: Collection[str]) -> None:
        """Remove deleted personas from all rooms."""
        gone = set(personas)
        for room in self._rooms.of_tenant(LOCAL):
            if gone & room.members.keys():
                await self._change_members(room.id, set(), gone)
        await self._store_awaited({id: rooms for id, rooms in self._awaited.items() if id not in gone})

    async def join_new_rooms(self) -> None:
        """Add personas to rooms that were created meanwhile."""
        came = set()
        for room in {room for rooms in self._awaited.values() for room in rooms}:
            if await self._change_members(room, {id for id, rooms in self._awaited.items() if room in rooms}, set()):
                came.add(room)
        await self._store_awaited({id: rooms - came for id, rooms in self._awaited.items()})

    def _on_room_changed(self, event: RoomChanged) -> None:
        if event.tenant != LOCAL or not any(event.room in rooms for rooms in self._awaited.values()):
            return
        if self._rooms.get(LOCAL, event.room) is not None and (self._joining is None or self._joining.done()):
            self._joining = asyncio.get_running_loop().create_task(self._join_or_log())

    async def _join_or_log(self) -> None:
        try:
            await self.join_new_rooms()
        except (Conflict, LedgerUnavailable) as error:
            log.warning("a persona could not join a room; it joins at the next start: %s", error)

    async def _store_awaited(self, awaited: Mapping[str, set[str]]) -> None:
        rest = {id: rooms for id, rooms in awaited.items() if rooms}
        if rest != self._awaited:
            self._awaited = rest
            kept = json.dumps({id: sorted(names) for id, names in rest.items()}, sort_keys=True)
            await self._store.write(kv.put(_AWAITED_KEY, kept))

    async def _change_members(self, name: str, joins: set[str], leaves: set[str]) -> bool:
        """Change the members of a room in one write; False if not all could join.

        Archived rooms are joined once they are reopened. Direct rooms cannot be joined by a file.
        """
        for attempt in range(_ATTEMPTS):
            room = self._rooms.get(LOCAL, name)
            if room is None or (joins and room.direct):
                return False
            coming = joins & room.members.keys() if room.archived else joins
            members = {id: one for id, one in room.members.items() if id not in leaves}
            members |= {id: Member(id, "ai", Role.MEMBER) for id in sorted(coming)}
            if members == room.members:
                return coming == joins
            try:
                await self._rooms.change(msgspec.structs.replace(room, members=members))
                return coming == joins
            except Conflict:
                if attempt + 1 == _ATTEMPTS:
                    raise
        return False
