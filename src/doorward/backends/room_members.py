"""room/join, room/leave, room/direct and room/who: who is in a room, and who looks at it now."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from doorward.backends.context import Context, Listing, listing
from doorward.backends.room import (
    DIRECT,
    Name,
    RoomFacts,
    administered,
    changed,
    check_recipe,
    difference,
    keep,
    seen,
    sees,
    shown,
)
from doorward.command import READS_ONLY, Example, Family, Undo
from doorward.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.facts import Access, Effects, Role, Safety, Tier
from doorward.model import Kind
from doorward.rooms.rooms import Member, Room

family = Family("room", category="rooms")

MemberName = Annotated[str, Meta(description="The person's or agent's id", min_length=1, max_length=63)]


class Whoever(TypedDict):
    member: str
    kind: Kind
    role: Role
    here: Annotated[bool, Meta(description="Whether they look at the room at this moment")]


@family.command(
    "join",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("let anna into the lab", {"name": "lab", "member": "anna", "role": "member"})],
    related=["room/leave", "room/list"],
    humans_only=True,
)
async def join(
    ctx: Context,
    name: Name,
    member: MemberName,
    role: Annotated[Literal["owner", "admin", "member"], Meta(description="What they may do there")] = "member",
) -> RoomFacts:
    """Make a person, an AI or a program a member of a room, or change their role in it."""
    return await changed(ctx, *_with_member(ctx, name, member, role))


@join.shows_effect
async def join_effect(ctx: Context, name: str, member: str, role: str = "member") -> dict[str, Any]:
    return difference(*_with_member(ctx, name, member, role))


def _with_member(ctx: Context, name: str, member: str, role: str) -> tuple[Room, Room]:
    room = administered(ctx, name)
    if room.direct and member not in room.members:
        raise Conflict(f"Room {name!r} is a room of two; make another room for more.")
    kind = _kind(ctx, member)
    if kind != "human" and role != "member":
        raise BadParams(f"Only people own or administer rooms; {member!r} is an agent, so its role is member.")
    members = {**room.members, member: Member(member, kind, Role(role))}
    _check_owner(members)
    return room, msgspec.structs.replace(room, members=members)


@family.command(
    "leave",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("take anna out of the lab", {"name": "lab", "member": "anna"})],
    related=["room/join", "room/list"],
    humans_only=True,
)
async def leave(ctx: Context, name: Name, member: MemberName) -> RoomFacts:
    """Take somebody out of a room, or leave it yourself."""
    return await changed(ctx, *_without_member(ctx, name, member))


@leave.shows_effect
async def leave_effect(ctx: Context, name: str, member: str) -> dict[str, Any]:
    return difference(*_without_member(ctx, name, member))


def _without_member(ctx: Context, name: str, member: str) -> tuple[Room, Room]:
    room = seen(ctx, name) if member == ctx.caller.id else administered(ctx, name)
    if member != ctx.caller.id and ctx.caller.access < Access.FULL:
        raise NotPermitted(
            f"To take others out of a room you need full access; you have {ctx.caller.access.label}.",
        )
    if member not in room.members:
        raise BadParams(f"{member!r} is not in room {name!r}; there are: {', '.join(sorted(room.members))}.")
    if room.direct:
        raise Conflict(f"Room {name!r} is a room of two, and nobody leaves it; close it with room/archive.")
    members = {id: one for id, one in room.members.items() if id != member}
    _check_owner(members)
    return room, msgspec.structs.replace(room, members=members)


@family.command(
    "direct",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("talk with anna alone", {"member": "anna"})],
    related=["room/create", "room/say"],
    humans_only=True,
)
async def direct(ctx: Context, member: MemberName) -> RoomFacts:
    """Find the room of you and one other, or make it when there is none yet."""
    room = _room_of_two(ctx, member)
    found = ctx.house.rooms.get(room.tenant, room.id)
    if found is None:
        await ctx.house.rooms.create(room, keep(ctx, room.id, None, room))
    return shown(found or room)


@direct.shows_effect
async def direct_effect(ctx: Context, member: str) -> dict[str, Any]:
    room = _room_of_two(ctx, member)
    found = ctx.house.rooms.get(room.tenant, room.id)
    return {"before": shown(found) if found else None, "after": shown(found or room)}


def _room_of_two(ctx: Context, member: str) -> Room:
    caller, kind = ctx.caller, _kind(ctx, member)
    if member == caller.id:
        raise BadParams(f"A room of two needs another beside you; given {member!r}, which is you.")
    if not _is_known(ctx, member):
        raise NotFound(f"There is nobody called {member!r}; user/list and persona/list say who there is.")
    id = direct_name(caller.id, member)
    if not caller.reaches(id):
        raise NotPermitted(f"Your token is good for other rooms only: {', '.join(caller.rooms or ())}.")
    recipe = ctx.house.settings.rooms.direct_recipe
    check_recipe(ctx, recipe)
    other = Member(member, kind, Role.OWNER if kind == "human" else Role.MEMBER)
    members = {caller.id: Member(caller.id, "human", Role.OWNER), member: other}
    return Room(caller.tenant, id, f"{caller.id} and {member}", recipe, members, direct=True)


def direct_name(one: str, other: str) -> str:
    """What the room of two is called: by their names where these can stand in it, else by a sum of them."""
    first, second = sorted((one, other))
    name = f"{DIRECT}{first}-{second}"
    if all(part.isascii() and part.isalnum() and part.islower() for part in (first, second)) and len(name) <= 63:
        return name
    return DIRECT + hashlib.sha256(f"{first}\0{second}".encode()).hexdigest()[:24]


@family.command(
    "who",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("who is looking at the lab", {"name": "lab"})],
    related=["room/show", "room/wait"],
    tells_how_it_stands=True,
)
async def who(ctx: Context, name: Name) -> Listing[Whoever]:
    """List the members of a room, and who of them looks at it at this moment."""
    room = seen(ctx, name)
    here = ctx.house.presence.here(room.tenant, room.id)
    members = sorted(room.members.values(), key=lambda one: one.id)
    return listing([{"member": one.id, "kind": one.kind, "role": one.role, "here": one.id in here} for one in members])


def _kind(ctx: Context, member: str) -> Kind:
    """What a member is; whoever is no user is an AI, which comes by a token or is a persona."""
    user = ctx.house.people.get(ctx.caller.tenant, member)
    return user.kind if user is not None else "ai"


def _is_known(ctx: Context, member: str) -> bool:
    """Whether there is somebody of that name: a user, a persona, or an agent in one of the caller's rooms."""
    tenant = ctx.caller.tenant
    if ctx.house.people.get(tenant, member) is not None or ctx.house.personas.get(tenant, member) is not None:
        return True
    return any(member in room.members for room in ctx.house.rooms.of(tenant) if sees(ctx, room))


def _check_owner(members: dict[str, Member]) -> None:
    if not any(one.role is Role.OWNER and one.kind == "human" for one in members.values()):
        raise Conflict("A room keeps at least one owner who is a person.")
