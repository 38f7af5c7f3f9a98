"""room/mark and room/wait: say how far you have read, and wait for what comes next."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.room import Name, seen
from doorward.backends.room_message import MessageFacts, shown
from doorward.command import READS_ONLY, Example, Family, NoUndo
from doorward.errors import BadParams
from doorward.facts import Access, Effects, Safety, Tier
from doorward.rooms.live import Notice, Posted
from doorward.rooms.message import Message
from doorward.rooms.rooms import Room

family = Family("room", category="rooms")

LONGEST_WAIT = 50
_AT_ONCE = 100


class Marked(TypedDict):
    room: str
    read: Annotated[int, Meta(description="The position up to which you have read")]
    unread: Annotated[int, Meta(description="Messages of others behind it; 100 means or more")]


class Waited(TypedDict):
    items: Annotated[list[MessageFacts], Meta(description="New and changed messages of others, oldest first")]
    next: Annotated[int, Meta(description="Give this as `after` to wait for what comes then")]


@family.command(
    "mark",
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=NoUndo("a mark can be set again, forward and back"),
    examples=[Example("I have read all there is in the lab", {"name": "lab"})],
    related=["room/messages", "room/list"],
    tells_how_it_stands=True,
)
async def mark(
    ctx: Context,
    name: Name,
    position: Annotated[
        int | None, Meta(description="The position of the last message you have read; by default the newest")
    ] = None,
) -> Marked:
    """Remember how far you have read in a room; what is behind that is unread."""
    room = seen(ctx, name)
    newest = await ctx.house.messages.revision(room)
    place = newest if position is None else int(position)
    if not 0 <= place <= newest:
        raise BadParams(f"room/mark: position is from 0 to {newest}, the newest in room {room.id!r}; given {place}.")
    await ctx.house.messages.mark(room, ctx.caller.whose, place)
    read = (await ctx.house.messages.unread([room], ctx.caller.whose))[room.id]
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
    examples=[Example("what came since revision 0, without waiting", {"name": "lab", "after": 0, "seconds": 0})],
    related=["room/messages", "room/say"],
    tells_how_it_stands=True,
)
async def wait(
    ctx: Context,
    name: Annotated[str, Meta(description="The room; by default the one you act in", max_length=63)] = "",
    after: Annotated[
        int | None, Meta(description="Only what came behind this revision; by default what comes from now on")
    ] = None,
    seconds: Annotated[float, Meta(description="How long to wait for it at most", ge=0, le=LONGEST_WAIT)] = 25,
) -> Waited:
    """Wait until others say something in a room, or change what they said, and give that.

    With room/say an agent takes part in a room this way: it waits, answers, and waits again after `next`.
    """
    room = seen(ctx, name or ctx.call.room)
    newest = await ctx.house.messages.revision(room)
    place = newest if after is None else min(max(int(after), 0), newest)
    come = asyncio.Event()

    def told(notice: Notice) -> None:
        if isinstance(notice, Posted) and not notice.message.is_of(ctx.caller):
            come.set()

    leave = ctx.house.live.follow(room.tenant, room.id, told)
    here = ctx.house.presence.enter(room.tenant, room.id, ctx.caller.id)
    try:
        items, place = await _behind(ctx, room, place)
        if not items and seconds > 0:
            try:
                async with asyncio.timeout(seconds):
                    await come.wait()
            except TimeoutError:
                pass
            items, place = await _behind(ctx, room, place)
        seen(ctx, room.id)  # whoever was taken out meanwhile is told nothing
    finally:
        here()
        leave()
    return {"items": [shown(one) for one in items], "next": place}


async def _behind(ctx: Context, room: Room, place: int) -> tuple[list[Message], int]:
    """What others said and changed behind a revision, and the revision up to which that is all."""
    while True:
        found = await ctx.house.messages.since(room, place, _AT_ONCE)
        place = found[-1].revision if found else place
        others = [one for one in found if not one.is_of(ctx.caller)]
        if others or len(found) < _AT_ONCE:
            return others, place
