"""Commands room/join, room/leave, room/direct and room/who: the members of rooms and their presence."""

from __future__ import annotations

import difflib
import hashlib
from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.context import Context, Listing, make_listing
from doorward.commands.room import (
    RoomFacts,
    RoomName,
    check_recipe,
    describe_change,
    describe_room,
    get_administered_room,
    get_member_room,
    keep_before_image,
    store_change,
)
from doorward.core.classification import Access, Effects, Role, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, Undo
from doorward.core.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.core.model import KEEPER, Kind
from doorward.rooms.accounts.tokens import ApiToken
from doorward.rooms.rooms import Member, Room
from doorward.store.rooms import DIRECT

family = Family("room", category="rooms")

_KIND_PHRASES = {"human": "a person", "ai": "an AI", "service": "a program"}
MemberName = Annotated[str, Meta(description="The id of the person or agent", min_length=1, max_length=63)]


class MemberFacts(TypedDict):
    member: str
    kind: Kind
    role: Role
    here: Annotated[bool, Meta(description="Whether they are present in the room now")]


@family.command(
    "join",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("add anna to the lab", {"name": "lab", "member": "anna", "role": "member"})],
    related=["room/leave", "room/list"],
    humans_only=True,
    widens_access=True,
)
async def join(
    ctx: Context,
    name: RoomName,
    member: MemberName,
    role: Annotated[Literal["owner", "admin", "member"], Meta(description="Their role in the room")] = "member",
    kind: Annotated[
        Literal["", "ai", "service"],
        Meta(description="The kind of an agent that is not known here yet: an AI or a program"),
    ] = "",
) -> RoomFacts:
    """Add a person, an AI or a program to a room, or change their role in it."""
    return await store_change(ctx, *_with_member(ctx, name, member, role, kind))


@join.describes_effect
async def join_effect(
    ctx: Context, name: str, member: str, role: str = "member", kind: Literal["", "ai", "service"] = ""
) -> dict[str, Any]:
    return describe_change(*_with_member(ctx, name, member, role, kind))


def _with_member(
    ctx: Context, name: str, member: str, role: str, given: Literal["", "ai", "service"]
) -> tuple[Room, Room]:
    room = get_administered_room(ctx, name)
    if member == KEEPER:
        raise BadParams(
            f"{KEEPER!r} is the keeper, which is in every room of the person it acts for. "
            "Make that person a member instead."
        )
    if room.direct and member not in room.members:
        raise Conflict(f"Room {name!r} is a direct room of two members. Create another room for more members.")
    kind = _find_kind(ctx, member) or given
    if not kind:
        raise _unknown_member(ctx, member, ', or a new agent given with kind "ai" or "service" (--agent)')
    if given and given != kind:
        raise BadParams(f"{member!r} is {_KIND_PHRASES[kind]}, not {_KIND_PHRASES[given]}.")
    if kind != "human" and role != "member":
        raise BadParams(f"Only people can be owners or admins of rooms. {member!r} is an agent, so its role is member.")
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
    examples=[Example("remove anna from the lab", {"name": "lab", "member": "anna"})],
    related=["room/join", "room/list"],
    humans_only=True,
)
async def leave(ctx: Context, name: RoomName, member: MemberName) -> RoomFacts:
    """Remove a member from a room, or leave it yourself."""
    return await store_change(ctx, *_without_member(ctx, name, member))


@leave.describes_effect
async def leave_effect(ctx: Context, name: str, member: str) -> dict[str, Any]:
    return describe_change(*_without_member(ctx, name, member))


def _without_member(ctx: Context, name: str, member: str) -> tuple[Room, Room]:
    room = get_member_room(ctx, name) if member == ctx.caller.id else get_administered_room(ctx, name)
    if member != ctx.caller.id and ctx.caller.access < Access.FULL:
        raise NotPermitted(
            f"Removing others from a room requires full access; you have {ctx.caller.access.label}.",
        )
    if member not in room.members:
        raise BadParams(f"{member!r} is not in room {name!r}. Members: {', '.join(sorted(room.members))}.")
    if room.direct:
        raise Conflict(f"Room {name!r} is a direct room, which nobody can leave. Close it with room/archive.")
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
    examples=[Example("talk to anna alone", {"member": "anna"})],
    related=["room/create", "room/say"],
    humans_only=True,
    widens_access=True,
)
async def direct(ctx: Context, member: MemberName) -> RoomFacts:
    """Open the direct room of you and one other member. Create it if it does not exist."""
    room = _new_direct_room(ctx, member)
    found = _find_direct_room(ctx, room)
    if found is None:
        await ctx.services.rooms.create(room, keep_before_image(ctx, room.id, None, room))
    return describe_room(found or room)


@direct.describes_effect
async def direct_effect(ctx: Context, member: str) -> dict[str, Any]:
    room = _new_direct_room(ctx, member)
    found = _find_direct_room(ctx, room)
    return {"before": describe_room(found) if found else None, "after": describe_room(found or room)}


def _find_direct_room(ctx: Context, room: Room) -> Room | None:
    found = ctx.services.rooms.get(room.tenant, room.id)
    if found is not None and not found.direct:  # created before such names were reserved for direct rooms
        raise Conflict(f"The room {room.id!r} exists but is not a direct room. Archive it, or use another room.")
    return found


def _new_direct_room(ctx: Context, member: str) -> Room:
    caller, kind = ctx.caller, _find_kind(ctx, member)
    if member == caller.id:
        raise BadParams(f"A direct room needs another member; given {member!r}, which is you.")
    if kind is None:
        raise _unknown_member(ctx, member)
    id = direct_room_name(caller.id, member)
    if not caller.covers_room(id):
        raise NotPermitted(f"Your token is limited to other rooms: {', '.join(caller.rooms or ())}.")
    recipe = ctx.services.settings.rooms.direct_recipe
    check_recipe(ctx, recipe)
    other = Member(member, kind, Role.OWNER if kind == "human" else Role.MEMBER)
    members = {caller.id: Member(caller.id, "human", Role.OWNER), member: other}
    return Room(caller.tenant, id, f"{caller.id} and {member}", recipe, members, direct=True)


def direct_room_name(one: str, other: str) -> str:
    """The name of the direct room of two members: their names if these are simple and short, else a hash of them."""
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
    examples=[Example("who is in the lab now", {"name": "lab"})],
    related=["room/show", "room/wait"],
    is_status_poll=True,
)
async def who(ctx: Context, name: RoomName) -> Listing[MemberFacts]:
    """List the members of a room, and who is present now."""
    room = get_member_room(ctx, name)
    here = ctx.services.presence.present_members(room.tenant, room.id)
    members = sorted(room.members.values(), key=lambda one: one.id)
    return make_listing(
        [{"member": one.id, "kind": one.kind, "role": one.role, "here": one.id in here} for one in members]
    )


def _find_kind(ctx: Context, member: str) -> Kind | None:
    """The kind of a user, a persona, an agent with a token, or a member of the caller's rooms; None if unknown."""
    tenant = ctx.caller.tenant
    user = ctx.services.people.get(tenant, member)
    if user is not None:
        return user.kind
    if ctx.services.personas.get(tenant, member) is not None:
        return "ai"
    for token in _agent_tokens(ctx):
        if token.name == member:
            return token.kind
    rooms = (room for room in ctx.services.rooms.of_tenant(tenant) if room.is_visible_to(ctx.caller))
    return next((room.members[member].kind for room in rooms if member in room.members), None)


def _agent_tokens(ctx: Context) -> list[ApiToken]:
    """The valid tokens of agents and programs, each named after its agent."""
    now = ctx.services.clock.now()
    ours = ctx.services.tokens.of_tenant(ctx.caller.tenant)
    return [one for one in ours if one.kind != "human" and one.revoked_at is None and one.expires_at > now]


def _unknown_member(ctx: Context, member: str, more: str = "") -> NotFound:
    """The error for an unknown member, with the nearest known names."""
    tenant = ctx.caller.tenant
    names = {one.id for one in ctx.services.people.of_tenant(tenant)} | {
        one.id for one in ctx.services.personas.all(tenant)
    }
    names |= {one.name for one in _agent_tokens(ctx)}
    near = difflib.get_close_matches(member, sorted(names), n=3, cutoff=0.5)
    nearest = f" Nearest: {', '.join(near)}." if near else ""
    return NotFound(
        f"Unknown member {member!r}.{nearest} A member is a person, a persona, or an agent with a token{more}.",
        hint="List them: user/list, persona/list, token/list",
    )


def _check_owner(members: dict[str, Member]) -> None:
    if not any(one.role is Role.OWNER and one.kind == "human" for one in members.values()):
        raise Conflict("A room needs at least one owner who is a person.")
