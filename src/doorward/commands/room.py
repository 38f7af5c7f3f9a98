"""Commands room/*: list, create, change, archive and reopen rooms, and set their recipes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.context import Context, Listing, make_listing
from doorward.config.wide_folders import describe_wide
from doorward.core.classification import Access, Effects, Role, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, Undo
from doorward.core.errors import BadParams, Conflict, NotFound, NotPermitted, Unusable
from doorward.core.model import Kind
from doorward.rooms.messages import ReadPosition
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Member, Room
from doorward.store import before_images
from doorward.store.before_images import BeforeImage
from doorward.store.rooms import DIRECT
from doorward.store.sqlite import Statement

family = Family("room", category="rooms")

RoomName = Annotated[str, Meta(description="The room's name", min_length=1, max_length=63)]
RecipeName = Annotated[str, Meta(description="The recipe that governs it", min_length=1, max_length=63)]
Title = Annotated[str, Meta(description="The displayed title; the room's name by default", max_length=100)]
WorkspacePath = Annotated[
    str,
    Meta(
        description="Absolute path of an existing folder to work in; the shared workspace by default",
        max_length=4096,
    ),
]
AllowWide = Annotated[
    bool, Meta(description="Allow a workspace that is the root, a system folder or a whole home folder")
]
Topic = Annotated[str, Meta(description="The topic, in a sentence", max_length=500)]

_encode = msgspec.json.Encoder().encode


class RoomFacts(TypedDict):
    room: str
    title: Annotated[str, Meta(description="The displayed title")]
    topic: str
    recipe: str
    members: Annotated[dict[str, Role], Meta(description="The role of each member")]
    kinds: Annotated[dict[str, Kind], Meta(description="The kind of each member: a person, an AI or a program")]
    direct: Annotated[bool, Meta(description="Whether it is a direct room of two members")]
    workspace: Annotated[str, Meta(description="The folder that its commands work in; empty for the shared workspace")]
    archived: Annotated[bool, Meta(description="Whether it is archived: readable, but nothing runs in it")]
    observes: NotRequired[
        Annotated[bool, Meta(description="Whether its recipe only records what it would refuse or ask")]
    ]
    drafts: NotRequired[Annotated[bool, Meta(description="Whether its agents change drafts, which people merge")]]
    unread: NotRequired[Annotated[int, Meta(description="Unread messages of others; 100 means 100 or more")]]
    read: NotRequired[Annotated[int, Meta(description="The position of the last message you have read")]]


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
    related=["room/create", "room/show"],
    is_status_poll=True,
)
async def list_rooms(ctx: Context) -> Listing[RoomFacts]:
    """List the rooms you are a member of, with recipe, members and number of unread messages."""
    rooms = sorted(
        (room for room in ctx.services.rooms.of_tenant(ctx.caller.tenant) if room.is_visible_to(ctx.caller)),
        key=lambda one: one.id,
    )
    read = await ctx.services.messages.unread(rooms, ctx.caller.principal)
    return make_listing([describe_room(room, read.get(room.id)) for room in rooms])


@family.command(
    "create",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("create a room for research", {"name": "lab", "recipe": "research-chat"})],
    related=["room/list", "room/recipe", "room/join"],
    widens_access=True,
)
async def create(
    ctx: Context,
    name: RoomName,
    recipe: RecipeName,
    title: Title = "",
    topic: Topic = "",
    workspace: WorkspacePath = "",
    allow_wide: AllowWide = False,
) -> RoomFacts:
    """Create a room under a recipe, with you as its owner."""
    room = _new_room(ctx, name, recipe, title, topic, check_workspace(ctx, workspace, allow_wide))
    await ctx.services.rooms.create(room, keep_before_image(ctx, name, None, room))
    return describe_room(room)


@create.describes_effect
async def create_effect(
    ctx: Context,
    name: str,
    recipe: str,
    title: str = "",
    topic: str = "",
    workspace: str = "",
    allow_wide: bool = False,
) -> dict[str, Any]:
    if ctx.services.rooms.get(ctx.caller.tenant, name) is not None:
        raise Conflict(f"A room {name!r} already exists.")
    folder = check_workspace(ctx, workspace, allow_wide)
    return {"before": None, "after": describe_room(_new_room(ctx, name, recipe, title, topic, folder))}


def _new_room(ctx: Context, name: str, recipe: str, title: str, topic: str, workspace: str) -> Room:
    if name.startswith(DIRECT):
        raise BadParams(
            f"Names that begin with {DIRECT} are reserved for direct rooms, which room/direct creates; given {name!r}."
        )
    check_recipe(ctx, recipe)
    members = {ctx.caller.principal: Member(ctx.caller.principal, "human", Role.OWNER)}
    title = title.strip() or name
    return Room(ctx.caller.tenant, name, title, recipe, members, topic=topic.strip(), workspace=workspace)


def check_workspace(ctx: Context, workspace: str, allow_wide: bool) -> str:
    """The folder with symlinks resolved, if this caller may make it a room's workspace; empty if none is given."""
    if not workspace:
        return ""
    if ctx.caller.tenant != LOCAL or ctx.caller.access < Access.ROOT:
        raise NotPermitted("Only people with root access to this server may give a room a folder of its own.")
    if not Path(workspace).is_absolute():
        raise BadParams(f"A workspace is an absolute path; given {workspace!r}.")
    folder = Path(os.path.realpath(workspace))
    if not folder.is_dir():
        raise BadParams(f"The workspace {folder} {'is not a folder' if folder.exists() else 'does not exist'}.")
    try:
        ctx.services.workspaces.check_outside(folder)
    except Unusable as error:
        raise BadParams(error.message, hint=error.hint) from error
    if not allow_wide and (wide := describe_wide(folder)):
        raise BadParams(
            f"The workspace {folder} {wide}; commands in the room could read and change all of it.",
            hint="Choose the folder of one project, or set allowWide (--whole on the command line).",
        )
    return str(folder)


@family.command(
    "change",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("set the topic of the lab", {"name": "lab", "topic": "Measuring the new pump"})],
    related=["room/show", "room/recipe"],
    humans_only=True,
)
async def change(
    ctx: Context,
    name: RoomName,
    title: Annotated[Title | None, Meta(description="The new title; empty for the room's name")] = None,
    topic: Annotated[Topic | None, Meta(description="The new topic, in a sentence")] = None,
) -> RoomFacts:
    """Change the title or topic of a room. Its name stays."""
    return await store_change(ctx, *_with_title(ctx, name, title, topic))


@change.describes_effect
async def change_effect(ctx: Context, name: str, title: str | None = None, topic: str | None = None) -> dict[str, Any]:
    return describe_change(*_with_title(ctx, name, title, topic))


def _with_title(ctx: Context, name: str, title: str | None, topic: str | None) -> tuple[Room, Room]:
    room = get_administered_room(ctx, name)
    if title is None and topic is None:
        raise BadParams("room/change needs a title, a topic or both; neither was given.")
    return room, msgspec.structs.replace(
        room,
        name=room.name if title is None else title.strip() or room.id,
        topic=room.topic if topic is None else topic.strip(),
    )


@family.command(
    "recipe",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("make the lab read-only", {"name": "lab", "recipe": "read-only-research"})],
    related=["room/list"],
    humans_only=True,
    widens_access=True,
)
async def recipe(ctx: Context, name: RoomName, recipe: RecipeName) -> RoomFacts:
    """Put a room under another recipe. It applies from the next command on."""
    return await store_change(ctx, *_with_recipe(ctx, name, recipe))


@recipe.describes_effect
async def recipe_effect(ctx: Context, name: str, recipe: str) -> dict[str, Any]:
    return describe_change(*_with_recipe(ctx, name, recipe))


def _with_recipe(ctx: Context, name: str, recipe: str) -> tuple[Room, Room]:
    room = get_administered_room(ctx, name)
    check_recipe(ctx, recipe)
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
    related=["room/list", "room/reopen"],
    humans_only=True,
)
async def archive(ctx: Context, name: RoomName) -> RoomFacts:
    """Archive a room. It stays readable, but no messages or commands are accepted in it."""
    return await store_change(ctx, *_with_archived(ctx, name, True))


@archive.describes_effect
async def archive_effect(ctx: Context, name: str) -> dict[str, Any]:
    return describe_change(*_with_archived(ctx, name, True))


@family.command(
    "reopen",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=Undo("room"),
    examples=[Example("open the lab again", {"name": "lab"})],
    related=["room/archive"],
    humans_only=True,
    widens_access=True,
)
async def reopen(ctx: Context, name: RoomName) -> RoomFacts:
    """Reopen an archived room under its previous recipe."""
    return await store_change(ctx, *_with_archived(ctx, name, False))


@reopen.describes_effect
async def reopen_effect(ctx: Context, name: str) -> dict[str, Any]:
    return describe_change(*_with_archived(ctx, name, False))


def _with_archived(ctx: Context, name: str, archived: bool) -> tuple[Room, Room]:
    room = get_administered_room(ctx, name)
    return room, msgspec.structs.replace(room, archived=archived)


@family.undoer("room")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous version of a room, unless it has changed since."""
    (image,) = images
    rooms = ctx.services.rooms
    now = rooms.get(ctx.caller.tenant, image.target)
    if now is not None:
        get_reachable_room(ctx, now.id)
    if (now.version if now else 0) != int(image.after):
        raise Conflict(f"Room {image.target!r} has changed since. Nothing was undone.")
    done = before_images.mark_undone(image.call, ctx.call.id)
    before = msgspec.json.decode(image.before, type=Room) if image.before is not None else None
    if now is not None and before is None:
        if await ctx.services.messages.revision(now):
            raise Conflict(f"Room {image.target!r} has messages by now. Close it with room/archive instead.")
        await rooms.delete(now, done, keep_before_image(ctx, image.target, now, None))
        return {"room": image.target, "now": "removed"}
    if before is None:
        raise Conflict(f"Room {image.target!r} no longer exists. Nothing was undone.")
    if now is None:
        await rooms.create(
            msgspec.structs.replace(before, version=1), done, keep_before_image(ctx, image.target, None, before)
        )
        return {"room": image.target, "now": "there again"}
    changed = msgspec.structs.replace(before, version=now.version)
    await rooms.change(changed, done, keep_before_image(ctx, image.target, now, changed))
    return {"room": image.target, "now": "as before"}


async def store_change(ctx: Context, old: Room, new: Room) -> RoomFacts:
    """Store a changed room together with its before-image, so that the change can be undone."""
    return describe_room(await ctx.services.rooms.change(new, keep_before_image(ctx, old.id, old, new)))


def describe_change(old: Room, new: Room) -> dict[str, Any]:
    return {"before": describe_room(old), "after": describe_room(new)}


def keep_before_image(ctx: Context, name: str, old: Room | None, new: Room | None) -> Statement:
    """Build the before-image of a room. `after` is its version once the change is stored (0 when it is deleted)."""
    after = 0 if new is None else 1 if old is None else old.version + 1
    return before_images.store_image(
        ctx.call,
        kind="room",
        target=name,
        before=_encode(old) if old is not None else None,
        after=str(after),
        at=ctx.services.clock.now(),
    )


def get_administered_room(ctx: Context, name: str) -> Room:
    room = get_reachable_room(ctx, name)
    member = room.members.get(ctx.caller.id)
    if ctx.caller.access < Access.ROOT and (member is None or member.role is Role.MEMBER):
        raise NotPermitted(f"Only owners and admins of room {name!r} may change it.")
    return room


def get_reachable_room(ctx: Context, name: str) -> Room:
    """Find a room that the caller's credential covers. Direct rooms of others are reported as missing."""
    room = ctx.services.rooms.get(ctx.caller.tenant, name) if ctx.caller.covers_room(name) else None
    if room is None or (room.direct and not room.is_visible_to(ctx.caller)):
        raise _not_found(ctx, name, "that you may act in")
    return room


def get_member_room(ctx: Context, name: str) -> Room:
    """Find a room that the caller is a member of. Other rooms are reported as missing."""
    room = ctx.services.rooms.get(ctx.caller.tenant, name)
    if room is None or not room.is_visible_to(ctx.caller):
        raise _not_found(ctx, name, "that you are a member of")
    return room


def get_visible_room(ctx: Context, name: str) -> Room:
    """Find a room that the caller may see: its members and people with full access may."""
    room = ctx.services.rooms.get(ctx.caller.tenant, name)
    if room is None or not room.is_known_to(ctx.caller):
        raise _not_found(ctx, name, "that you may see")
    return room


def _not_found(ctx: Context, name: str, that: str) -> NotFound:
    names = ", ".join(
        sorted(one.id for one in ctx.services.rooms.of_tenant(ctx.caller.tenant) if one.is_visible_to(ctx.caller))
    )
    return NotFound(f"There is no room {name[:80]!r} {that}. Your rooms: {names or 'none'}.")


def check_recipe(ctx: Context, recipe: str) -> None:
    if ctx.services.recipes.policy(recipe) is None:
        names = ", ".join(sorted(one.recipe_id for one in ctx.services.recipes.recipes()))
        raise BadParams(f"There is no recipe {recipe!r}. Recipes: {names}.")


def describe_room(room: Room, read: ReadPosition | None = None) -> RoomFacts:
    facts: RoomFacts = {
        "room": room.id,
        "title": room.name,
        "topic": room.topic,
        "recipe": room.recipe,
        "members": {one.id: one.role for one in room.members.values()},
        "kinds": {one.id: one.kind for one in room.members.values()},
        "direct": room.direct,
        "workspace": room.workspace,
        "archived": room.archived,
    }
    if read is not None:
        facts["unread"], facts["read"] = read.unread, read.position
    return facts
