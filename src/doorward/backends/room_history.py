"""Commands room/show, room/messages, room/message and room/search: read a room and its messages."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.room import Name, RoomFacts, seen, shown
from doorward.backends.room_message import MessageFacts, MessageId, keeps_order
from doorward.backends.room_message import shown as shown_message
from doorward.clock import iso
from doorward.command import READS_ONLY, Example, Family
from doorward.errors import BadParams, NotFound
from doorward.facts import Access, Effects, Safety, Tier
from doorward.rooms.message import Card, File, Message
from doorward.rooms.rooms import Room

family = Family("room", category="rooms")

_AN_ID = "01k9x2m4q7ab3cde"
Limit = Annotated[int, Meta(description="Maximum number of messages, newest first", ge=1, le=200)]


class MessagePage(TypedDict):
    items: list[MessageFacts]
    next: Annotated[str | None, Meta(description="The `before` value for older messages; null if there are none")]
    newer: Annotated[str | None, Meta(description="The `after` value for newer messages; null if there are none")]
    revision: Annotated[int, Meta(description="The room's revision; follow the room from here to miss nothing")]


class Found(TypedDict):
    items: list[MessageFacts]
    next: Annotated[str | None, Meta(description="The `before` value for older messages; null if there are none")]


class Earlier(TypedDict):
    """An earlier version of a message."""

    text: str
    attachments: list[File | Card]
    change: Annotated[str, Meta(description="The change that replaced it: edited, deleted or restored")]
    by: str
    at: Annotated[str, Meta(description="The time of that change")]


class WholeMessage(TypedDict):
    message: MessageFacts
    earlier: NotRequired[
        Annotated[list[Earlier], Meta(description="Earlier versions; only for its sender and the room's moderators")]
    ]


@family.command(
    "show",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("who is in the lab", {"name": "lab"})],
    related=["room/list", "room/messages", "room/who"],
    tells_how_it_stands=True,
)
async def show(ctx: Context, name: Name) -> RoomFacts:
    """Show a room you are a member of: recipe, members, unread messages, and whether it is archived."""
    room = seen(ctx, name)
    return shown(room, (await ctx.house.messages.unread([room], ctx.caller.whose)).get(room.id))


@family.command(
    "messages",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("what was said last in the lab", {"name": "lab", "limit": 20})],
    related=["room/say", "room/show", "room/search", "room/wait"],
    tells_how_it_stands=True,
)
async def messages(
    ctx: Context,
    name: Name,
    limit: Limit = 50,
    before: Annotated[str, Meta(description="Only messages older than this one", max_length=64)] = "",
    after: Annotated[str, Meta(description="Only messages newer than this one", max_length=64)] = "",
    around: Annotated[str, Meta(description="This message and equally many before and after it", max_length=64)] = "",
) -> MessagePage:
    """Read the messages of a room you are a member of, newest first, in pages."""
    room, most = seen(ctx, name), int(limit)
    given = [one for one in (before, after, around) if one]
    if len(given) > 1:
        raise BadParams("room/messages takes only one of before, after and around.")
    revision = await ctx.house.messages.revision(room)
    position = (await ctx.house.messages.get(room, given[0])).position if given else None
    newer: list[Message] = []
    older: list[Message] = []
    if position is not None and not before:
        newer = await ctx.house.messages.after(room, position, (most if after else most // 2) + 1)
    if not after:
        end = position if position is None or before else position + 1
        older = await ctx.house.messages.before(room, end, (most - most // 2 if around else most) + 1)
    return _page(newer, older, most, revision, after=bool(after), before=bool(before), around=bool(around))


def _page(
    newer: list[Message], older: list[Message], most: int, revision: int, *, after: bool, before: bool, around: bool
) -> MessagePage:
    """Build a page. Each side was read with one extra message, which only tells whether there are more."""
    most_newer, most_older = (most if after else most // 2), (most - most // 2 if around else most)
    more_newer = len(newer) > most_newer or before
    more_older = len(older) > most_older or after
    items = [*reversed(newer[:most_newer]), *older[:most_older]]
    return {
        "items": [shown_message(one) for one in items],
        "next": items[-1].id if items and more_older else None,
        "newer": items[0].id if items and more_newer else None,
        "revision": revision,
    }


@family.command(
    "message",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("what was this message before", {"name": "lab", "message": _AN_ID})],
    related=["room/messages", "room/edit", "room/delete"],
    tells_how_it_stands=True,
)
async def message(ctx: Context, name: Name, message: MessageId) -> WholeMessage:
    """Show a message. Its sender and the room's owners and admins also see its earlier versions."""
    room = seen(ctx, name)
    found = await ctx.house.messages.get(room, message)
    whole: WholeMessage = {"message": shown_message(found)}
    if found.is_of(ctx.caller) or keeps_order(ctx, room):
        versions = await ctx.house.messages.versions(found)
        whole["earlier"] = [
            {
                "text": one.text,
                "attachments": list(one.attachments),
                "change": one.change,
                "by": one.by,
                "at": iso(one.at),
            }
            for one in versions
        ]
    return whole


@family.command(
    "search",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("who spoke of the pump", {"words": "pump pressure"})],
    related=["room/messages"],
    tells_how_it_stands=True,
)
async def search(
    ctx: Context,
    words: Annotated[str, Meta(description="Words that the message must all contain", min_length=1, max_length=500)],
    name: Annotated[str, Meta(description="Only this room; all your rooms by default", max_length=63)] = "",
    limit: Limit = 50,
    before: Annotated[str, Meta(description="Only messages older than this one", max_length=64)] = "",
) -> Found:
    """Search the messages of your rooms by words, newest first, in pages."""
    rooms = (
        [seen(ctx, name)] if name else [one for one in ctx.house.rooms.of(ctx.caller.tenant) if one.seen_by(ctx.caller)]
    )
    if before:
        await _is_there(ctx, rooms, before)
    found = await ctx.house.messages.search(rooms, words, int(limit) + 1, before)
    items = [shown_message(one) for one in found[: int(limit)]]
    return {"items": items, "next": items[-1]["id"] if len(found) > len(items) else None}


async def _is_there(ctx: Context, rooms: list[Room], id: str) -> None:
    if not await ctx.house.messages.are_in(rooms, id):
        raise NotFound(f"There is no message {id[:64]!r} in the searched rooms.")
