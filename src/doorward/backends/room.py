"""room/*: make rooms, give them a recipe and members, speak in them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from doorward.backends.context import Context, Listing, listing
from doorward.command import READS_ONLY, Example, Family, NoUndo, Undo
from doorward.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.facts import Access, Effects, Role, Safety, Tier
from doorward.rooms.rooms import LARGEST_MESSAGE, Member, Room
from doorward.store import before_images
from doorward.store.before_images import BeforeImage
from doorward.store.sqlite import Statement

family = Family("room", category="rooms")

Name = Annotated[str, Meta(description="The room's name", min_length=1, max_length=63)]
RecipeName = Annotated[str, Meta(description="The recipe that governs it", min_length=1, max_length=63)]
MemberName = Annotated[str, Meta(description="The person's or agent's id", min_length=1, max_length=63)]

_encode = msgspec.json.Encoder().encode


class RoomFacts(TypedDict):
    room: str
    recipe: str
    members: Annotated[dict[str, Role], Meta(description="Who is in it, and in which role")]
    archived: Annotated[bool, Meta(description="Whether nothing runs in it any more")]


class Said(TypedDict):
    message: Annotated[str, Meta(description="The id of what was said")]
    room: str


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("which rooms am I in", {})],
    related=["room/create"],
)
async def list_rooms(ctx: Context) -> Listing[RoomFacts]:
    """List the rooms you are a member of, with their recipe and members."""
    rooms = [room for room in ctx.house.rooms.of(ctx.caller.tenant) if sees(ctx, room)]
    return listing([shown(room) for room in sorted(rooms, key=lambda room: room.id)])


@family.command(
    "create",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("make a room for research", {"name": "lab", "recipe": "research-chat"})],
    related=["room/list", "room/recipe", "room/join"],
)
async def create(ctx: Context, name: Name, recipe: RecipeName) -> RoomFacts:
    """Make a room that a recipe governs, with you as its owner."""
    room = _new(ctx, name, recipe)
    await ctx.house.rooms.create(room, _keep(ctx, name, None, room))
    return shown(room)


@create.shows_effect
async def create_effect(ctx: Context, name: str, recipe: str) -> dict[str, Any]:
    if ctx.house.rooms.get(ctx.caller.tenant, name) is not None:
        raise Conflict(f"There is a room {name!r} already.")
    return {"before": None, "after": shown(_new(ctx, name, recipe))}


def _new(ctx: Context, name: str, recipe: str) -> Room:
    if ctx.caller.kind != "human":
        raise NotPermitted(f"A room needs an owner who is a person; you act as {ctx.caller.as_whom}.")
    _check_recipe(ctx, recipe)
    members = {ctx.caller.id: Member(ctx.caller.id, "human", Role.OWNER)}
    return Room(ctx.caller.tenant, name, name, recipe, members)


@family.command(
    "recipe",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("let the lab only look", {"name": "lab", "recipe": "read-only-research"})],
    related=["room/list"],
    humans_only=True,
)
async def recipe(ctx: Context, name: Name, recipe: RecipeName) -> RoomFacts:
    """Put a room under another recipe. It holds from the next command on."""
    return await _change(ctx, *_with_recipe(ctx, name, recipe))


@recipe.shows_effect
async def recipe_effect(ctx: Context, name: str, recipe: str) -> dict[str, Any]:
    return _difference(*_with_recipe(ctx, name, recipe))


def _with_recipe(ctx: Context, name: str, recipe: str) -> tuple[Room, Room]:
    room = _administered(ctx, name)
    _check_recipe(ctx, recipe)
    return room, msgspec.structs.replace(room, recipe=recipe)


@family.command(
    "archive",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("close the lab", {"name": "lab"})],
    related=["room/list"],
    humans_only=True,
)
async def archive(ctx: Context, name: Name) -> RoomFacts:
    """Close a room: it stays readable, and nothing runs in it any more."""
    room = _administered(ctx, name)
    return await _change(ctx, room, msgspec.structs.replace(room, archived=True))


@archive.shows_effect
async def archive_effect(ctx: Context, name: str) -> dict[str, Any]:
    room = _administered(ctx, name)
    return _difference(room, msgspec.structs.replace(room, archived=True))


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
    """Make somebody a member of a room, or change their role in it."""
    return await _change(ctx, *_with_member(ctx, name, member, role))


@join.shows_effect
async def join_effect(ctx: Context, name: str, member: str, role: str = "member") -> dict[str, Any]:
    return _difference(*_with_member(ctx, name, member, role))


def _with_member(ctx: Context, name: str, member: str, role: str) -> tuple[Room, Room]:
    room = _administered(ctx, name)
    user = ctx.house.people.get(ctx.caller.tenant, member)
    kind = user.kind if user is not None else "ai"
    if kind != "human" and role != "member":
        raise BadParams(f"Only people own or administer rooms; {member!r} is an agent, so its role is member.")
    members = {**room.members, member: Member(member, kind, Role(role))}
    _check_owner(members)
    return room, msgspec.structs.replace(room, members=members)


@family.command(
    "leave",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("take anna out of the lab", {"name": "lab", "member": "anna"})],
    related=["room/join", "room/list"],
    humans_only=True,
)
async def leave(ctx: Context, name: Name, member: MemberName) -> RoomFacts:
    """Take somebody out of a room."""
    return await _change(ctx, *_without_member(ctx, name, member))


@leave.shows_effect
async def leave_effect(ctx: Context, name: str, member: str) -> dict[str, Any]:
    return _difference(*_without_member(ctx, name, member))


def _without_member(ctx: Context, name: str, member: str) -> tuple[Room, Room]:
    room = _administered(ctx, name)
    if member not in room.members:
        raise BadParams(f"{member!r} is not in room {name!r}; there are: {', '.join(sorted(room.members))}.")
    members = {id: one for id, one in room.members.items() if id != member}
    _check_owner(members)
    return room, msgspec.structs.replace(room, members=members)


@family.command(
    "say",
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=NoUndo("what was said was heard"),
    examples=[Example("greet the room", {"text": "Good morning"})],
    related=["room/list"],
)
async def say(
    ctx: Context,
    text: Annotated[str, Meta(description="The message", min_length=1, max_length=LARGEST_MESSAGE)],
    name: Annotated[str, Meta(description="The room; by default the one you act in", max_length=63)] = "",
) -> Said:
    """Say something in a room you are a member of."""
    room = _known(ctx, name or ctx.call.room)
    if room.archived:
        raise NotPermitted(f"The room {room.id!r} is archived; nothing is said in it any more.")
    if room.member(ctx.caller) is None or (ctx.caller.kind != "human" and room.id != ctx.call.room):
        raise NotPermitted(f"You are not a member of room {room.id!r}, or do not act in it.")
    return {"message": await ctx.house.rooms.say(room, ctx.caller.id, ctx.caller.kind, text), "room": room.id}


@family.undoer("room")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Bring a room back to what it was, unless it changed since."""
    (image,) = images
    rooms = ctx.house.rooms
    now = rooms.get(ctx.caller.tenant, image.target)
    if (now.version if now else 0) != int(image.after):
        raise Conflict(f"Room {image.target!r} changed since; nothing was undone.")
    done = before_images.mark_undone(image.call, ctx.call.id)
    before = msgspec.json.decode(image.before, type=Room) if image.before is not None else None
    if now is not None and before is None:
        await rooms.delete(now, done, _keep(ctx, image.target, now, None))
        return {"room": image.target, "now": "removed"}
    if before is None:
        raise Conflict(f"Room {image.target!r} is gone; nothing was undone.")
    if now is None:
        await rooms.create(msgspec.structs.replace(before, version=1), done, _keep(ctx, image.target, None, before))
        return {"room": image.target, "now": "there again"}
    changed = msgspec.structs.replace(before, version=now.version)
    await rooms.change(changed, done, _keep(ctx, image.target, now, changed))
    return {"room": image.target, "now": "as before"}


async def _change(ctx: Context, old: Room, new: Room) -> RoomFacts:
    return shown(await ctx.house.rooms.change(new, _keep(ctx, old.id, old, new)))


def _difference(old: Room, new: Room) -> dict[str, Any]:
    return {"before": shown(old), "after": shown(new)}


def _keep(ctx: Context, name: str, old: Room | None, new: Room | None) -> Statement:
    """The room as it was; `after` is the version it has once the change is stored (0 when it is gone)."""
    after = 0 if new is None else 1 if old is None else old.version + 1
    return before_images.keep(
        ctx.call,
        kind="room",
        target=name,
        before=_encode(old) if old is not None else None,
        after=str(after),
        at=ctx.house.clock.now(),
    )


def _administered(ctx: Context, name: str) -> Room:
    room = _known(ctx, name)
    member = room.members.get(ctx.caller.id)
    if ctx.caller.access < Access.ROOT and (member is None or member.role is Role.MEMBER):
        raise NotPermitted(f"Only the owners and admins of room {name!r} may change it.")
    return room


def _known(ctx: Context, name: str) -> Room:
    """A room of this tenant that the caller's credential is good for."""
    if not ctx.caller.reaches(name):
        raise NotFound(f"There is no room {name[:80]!r} that you may act in.")
    return ctx.house.rooms.known(ctx.caller.tenant, name)


def _check_recipe(ctx: Context, recipe: str) -> None:
    if ctx.house.recipes.policy(recipe) is None:
        names = ", ".join(sorted(one.recipe_id for one in ctx.house.recipes.recipes()))
        raise BadParams(f"There is no recipe {recipe!r}; there are: {names}.")


def _check_owner(members: dict[str, Member]) -> None:
    if not any(one.role is Role.OWNER and one.kind == "human" for one in members.values()):
        raise Conflict("A room keeps at least one owner who is a person.")


def sees(ctx: Context, room: Room) -> bool:
    """Whether a room is this caller's to see: a member, and by a credential that is good for it."""
    return ctx.caller.reaches(room.id) and room.member(ctx.caller) is not None


def shown(room: Room) -> RoomFacts:
    return {
        "room": room.id,
        "recipe": room.recipe,
        "members": {one.id: one.role for one in room.members.values()},
        "archived": room.archived,
    }
