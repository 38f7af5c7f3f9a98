"""Rooms with their members and recipe. Their messages are in `messages.py`."""

from __future__ import annotations

import logging
import re

import msgspec

from doorward.core.classification import Access, Role
from doorward.core.clock import Clock
from doorward.core.errors import BadParams, NotFound
from doorward.core.events import Bus, RoomChanged
from doorward.core.model import KEEPER, Caller, Kind
from doorward.rooms.project_rooms import find_room_of
from doorward.store import rooms as sql
from doorward.store.sqlite import Statement, Store

log = logging.getLogger(__name__)

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class Member(msgspec.Struct, frozen=True):
    id: str
    kind: Kind
    role: Role


class Room(msgspec.Struct, frozen=True):
    tenant: str
    id: str
    name: str
    recipe: str
    members: dict[str, Member] = {}
    archived: bool = False
    version: int = 1
    topic: str = ""
    direct: bool = False
    """Whether it is a direct room: it has two fixed members and is found by them."""
    workspace: str = ""
    """Absolute path of the folder that its commands work in; empty for the tenant's workspace."""

    def membership_of(self, caller: Caller) -> Member | None:
        """Return the membership a caller acts with: its own, or that of the person it acts for."""
        return self.members.get(caller.principal) or self.members.get(caller.on_behalf_of)

    def is_visible_to(self, caller: Caller) -> bool:
        """Whether this caller may see the room: it is a member, and its credential covers the room.

        An agent sees the rooms of the person it acts for, except direct rooms, where it must be one of the two members.
        The keeper sees what its person sees.
        """
        if caller.tenant != self.tenant or not caller.covers_room(self.id):
            return False
        return caller.principal in self.members if self.direct else self.membership_of(caller) is not None

    def is_known_to(self, caller: Caller) -> bool:
        """Whether a caller may know of a room and what happens in it: its members, and people with full access.

        Direct rooms are known to their two members only.
        """
        if self.is_visible_to(caller):
            return True
        full = caller.acts_as_person and caller.access >= Access.FULL
        return full and not self.direct and caller.tenant == self.tenant and caller.covers_room(self.id)


class Rooms:
    """Rooms, in memory (every decision needs one) and written through to the store."""

    def __init__(self, store: Store, events: Bus, clock: Clock) -> None:
        self._store = store
        self._events = events
        self._clock = clock
        self._rooms: dict[tuple[str, str], Room] = {}

    async def load(self) -> None:
        rooms: dict[tuple[str, str], Room] = {}
        for row in await sql.all_rooms(self._store):
            rooms[row["tenant"], row["id"]] = Room(
                row["tenant"],
                row["id"],
                row["name"],
                row["recipe"],
                {},
                bool(row["archived"]),
                row["version"],
                row["topic"],
                bool(row["direct"]),
                row["workspace"],
            )
        for row in await sql.all_members(self._store):
            if row["id"] == KEEPER:
                log.warning(
                    "%r is a member of the room %r (tenant %r) from before the name was reserved for the keeper; it is "
                    "ignored, and removed with the next change of the room.",
                    KEEPER,
                    row["room"],
                    row["tenant"],
                )
                continue
            members = rooms[row["tenant"], row["room"]].members
            members[row["id"]] = Member(row["id"], row["kind"], Role(row["role"]))
        self._rooms = rooms

    def get(self, tenant: str, id: str) -> Room | None:
        return self._rooms.get((tenant, id))

    def of_tenant(self, tenant: str) -> list[Room]:
        return [room for room in self._rooms.values() if room.tenant == tenant]

    def find_by_folder(self, tenant: str, folder: str) -> str:
        """Return the open room whose workspace contains this folder, the innermost one; empty if there is none."""
        return find_room_of(folder, ((one.id, one.workspace) for one in self.of_tenant(tenant) if not one.archived))

    def require(self, tenant: str, id: str) -> Room:
        room = self.get(tenant, id)
        if room is None:
            raise self.not_found(tenant, id)
        return room

    def not_found(self, tenant: str, id: str) -> NotFound:
        """Return the error for an unknown room. It lists the rooms, without direct rooms, which are private."""
        names = ", ".join(sorted(one.id for one in self.of_tenant(tenant) if not one.direct)) or "none"
        return NotFound(f"There is no room {id[:80]!r}; valid: {names}.")

    def rooms_with_same_people(self, tenant: str, id: str) -> tuple[str, ...]:
        """Return a room and every other room that all its people are members of, so that they may know its content.

        Direct rooms are never among the others, because their content is private.
        """
        room = self.get(tenant, id)
        if room is None:
            return ()
        here = {one.id for one in room.members.values() if one.kind == "human"}
        others = (one for one in self.of_tenant(tenant) if one is not room and not one.direct)
        return (id, *sorted(one.id for one in others if here and here <= one.members.keys()))

    def using_recipe(self, recipe: str) -> list[Room]:
        """Return the rooms of all tenants that use this recipe."""
        return [room for room in self._rooms.values() if room.recipe == recipe]

    async def create(self, room: Room, *also: Statement) -> Room:
        if not _NAME.fullmatch(room.id):
            raise BadParams(
                "A room name has 1 to 63 lower-case letters, digits, dashes or underscores, starting with a "
                f"letter or digit; given {room.id[:80]!r}."
            )
        at = self._clock.now()
        await self._store.write(
            sql.insert_room(
                room.tenant,
                room.id,
                name=room.name,
                recipe=room.recipe,
                archived=room.archived,
                topic=room.topic,
                direct=room.direct,
                workspace=room.workspace,
                at=at,
            ),
            *self._members(room),
            *also,
            then=lambda: self._put(room),
        )
        return room

    async def change(self, room: Room, *also: Statement) -> Room:
        """Store a changed room. Fails if somebody changed it since `room.version`."""
        changed = msgspec.structs.replace(room, version=room.version + 1)
        await self._store.write(
            sql.change_room(
                room.tenant,
                room.id,
                room.version,
                name=room.name,
                recipe=room.recipe,
                archived=room.archived,
                topic=room.topic,
                workspace=room.workspace,
            ),
            sql.delete_members(room.tenant, room.id),
            *self._members(room),
            *also,
            then=lambda: self._put(changed),
        )
        return changed

    async def delete(self, room: Room, *also: Statement) -> None:
        def forget() -> None:
            self._rooms.pop((room.tenant, room.id), None)
            self._publish_change(room)

        await self._store.write(sql.delete_room(room.tenant, room.id, room.version), *also, then=forget)

    def _put(self, room: Room) -> None:
        self._rooms[room.tenant, room.id] = room
        self._publish_change(room)

    def _publish_change(self, room: Room) -> None:
        self._events.publish(RoomChanged(tenant=room.tenant, at=self._clock.now(), room=room.id))

    @staticmethod
    def _members(room: Room) -> list[Statement]:
        return [
            sql.put_member(room.tenant, room.id, member.id, member.kind, member.role)
            for member in room.members.values()
        ]
