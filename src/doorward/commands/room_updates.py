"""Commands room/mark and room/wait: mark messages as read, and wait for new ones."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.room import RoomName, get_member_room
from doorward.commands.room_message import MessageFacts, describe_message
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import BadParams
from doorward.rooms.feed import MessagePosted, RoomNotice
from doorward.rooms.message import Message
from doorward.rooms.rooms import Room

family = Family("room", category="rooms")

LONGEST_WAIT = 50
_BATCH_SIZE = 100


class ReadMark(TypedDict):
    room: str
    read: Annotated[int, Meta(description="The position of the last message you have read")]
    unread: Annotated[int, Meta(description="Unread messages of others; 100 means 100 or more")]


class RoomUpdates(TypedDict):
    items: Annotated[list[MessageFacts], Meta(description="New and changed messages of others, oldest first")]
    next: Annotated[int, Meta(description="Pass it as `after` to wait for what follows")]


@family.command(
    "mark",
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=NoUndo("the position can be set again, forward or back"),
    examples=[Example("mark everything in the lab as read", {"name": "lab"})],
    related=["room/messages", "room/list"],
    is_status_poll=True,
)
async def mark(
    ctx: Context,
    name: RoomName,
    position: Annotated[
        int | None, Meta(description="The position of the last message you have read; the newest by default")
    ] = None,
) -> ReadMark:
    """Mark the messages of a room as read, up to a position. Later messages are unread."""
    room = get_member_room(ctx, name)
    newest = await ctx.services.messages.revision(room)
    place = newest if position is None else int(position)
    if not 0 <= place <= newest:
        raise BadParams(f"room/mark: position must be from 0 to {newest}, the newest in {room.id!r}; given {place}.")
    await ctx.services.messages.mark_read(room, ctx.caller.principal, place)
    read = (await ctx.services.messages.unread([room], ctx.caller.principal))[room.id]
    return {"room": room.id, "read": read.position, "unread": read.unread}


@family.command(
    "wait",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=LONGEST_WAIT + 10,
    undo=READS_ONLY,
    examples=[Example("messages since revision 0, without waiting", {"name": "lab", "after": 0, "seconds": 0})],
    related=["room/messages", "room/say"],
    is_status_poll=True,
)
async def wait(
    ctx: Context,
    name: Annotated[str, Meta(description="The room; the current room by default", max_length=63)] = "",
    after: Annotated[int | None, Meta(description="Only messages after this revision; from now on by default")] = None,
    seconds: Annotated[float, Meta(description="Maximum time to wait", ge=0, le=LONGEST_WAIT)] = 25,
) -> RoomUpdates:
    """Wait for new or changed messages of others in a room, and return them.

    An agent takes part in a room with room/wait and room/say: it waits, answers, and waits again after `next`.
    """
    room = get_member_room(ctx, name or ctx.call.room)
    newest = await ctx.services.messages.revision(room)
    place = newest if after is None else min(max(int(after), 0), newest)
    come = asyncio.Event()

    def told(notice: RoomNotice) -> None:
        if isinstance(notice, MessagePosted) and not notice.message.is_of(ctx.caller):
            come.set()

    leave = ctx.services.live.follow(room.tenant, room.id, told)
    here = ctx.services.presence.enter(room.tenant, room.id, ctx.caller.id)
    try:
        items, place = await _messages_after(ctx, room, place)
        if not items and seconds > 0:
            try:
                async with asyncio.timeout(seconds):
                    await come.wait()
            except TimeoutError:
                pass
            items, place = await _messages_after(ctx, room, place)
        get_member_room(ctx, room.id)  # the caller may have been removed from the room while it waited
    finally:
        here()
        leave()
    return {"items": [describe_message(one) for one in items], "next": place}


async def _messages_after(ctx: Context, room: Room, place: int) -> tuple[list[Message], int]:
    """The new and changed messages of others after a revision, and the revision up to which they are complete."""
    while True:
        found = await ctx.services.messages.since(room, place, _BATCH_SIZE)
        place = found[-1].revision if found else place
        others = [one for one in found if not one.is_of(ctx.caller)]
        if others or len(found) < _BATCH_SIZE:
            return others, place
