"""Commands room/show, room/messages, room/message and room/search: read a room and its messages."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.room import RoomFacts, RoomName, describe_room, get_member_room
from doorward.commands.room_message import MessageFacts, MessageId, is_moderator
from doorward.commands.room_message import describe_message as shown_message
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family
from doorward.core.errors import BadParams, NotFound
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


class MessageMatches(TypedDict):
    items: list[MessageFacts]
    next: Annotated[str | None, Meta(description="The `before` value for older messages; null if there are none")]


class EarlierVersion(TypedDict):
    """An earlier version of a message."""

    text: str
    attachments: list[File | Card]
    change: Annotated[str, Meta(description="The change that replaced it: edited, deleted or restored")]
    by: str
    at: Annotated[str, Meta(description="The time of that change")]


class MessageDetail(TypedDict):
    message: MessageFacts
    earlier: NotRequired[
        Annotated[
            list[EarlierVersion], Meta(description="Earlier versions; only for its sender and the room's moderators")
        ]
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
    is_status_poll=True,
)
async def show(ctx: Context, name: RoomName) -> RoomFacts:
    """Show a room you are a member of: recipe, members, unread messages, and whether it is archived."""
    room = get_member_room(ctx, name)
    read = (await ctx.services.messages.unread([room], ctx.caller.principal)).get(room.id)
    policy = ctx.services.recipes.policy(room.recipe)
    return {
        **describe_room(room, read),
        "observes": policy is not None and policy.observes,
        "drafts": ctx.services.drafts.uses_drafts(room.tenant, room.id),
    }


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
    is_status_poll=True,
)
async def messages(
    ctx: Context,
    name: RoomName,
    limit: Limit = 50,
    before: Annotated[str, Meta(description="Only messages older than this one", max_length=64)] = "",
    after: Annotated[str, Meta(description="Only messages newer than this one", max_length=64)] = "",
    around: Annotated[str, Meta(description="This message and equally many before and after it", max_length=64)] = "",
) -> MessagePage:
    """Read the messages of a room you are a member of, newest first, in pages."""
    room, most = get_member_room(ctx, name), int(limit)
    given = [one for one in (before, after, around) if one]
    if len(given) > 1:
        raise BadParams("room/messages takes only one of before, after and around.")
    revision = await ctx.services.messages.revision(room)
    position = (await ctx.services.messages.get(room, given[0])).position if given else None
    newer: list[Message] = []
    older: list[Message] = []
    if position is not None and not before:
        newer = await ctx.services.messages.after(room, position, (most if after else most // 2) + 1)
    if not after:
        end = position if position is None or before else position + 1
        older = await ctx.services.messages.before(room, end, (most - most // 2 if around else most) + 1)
    return _make_page(newer, older, most, revision, after=bool(after), before=bool(before), around=bool(around))


def _make_page(
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
    is_status_poll=True,
)
async def message(ctx: Context, name: RoomName, message: MessageId) -> MessageDetail:
    """Show a message. Its sender and the room's owners and admins also see its earlier versions."""
    room = get_member_room(ctx, name)
    found = await ctx.services.messages.get(room, message)
    whole: MessageDetail = {"message": shown_message(found)}
    if found.is_of(ctx.caller) or is_moderator(ctx, room):
        versions = await ctx.services.messages.versions(found)
        whole["earlier"] = [
            {
                "text": one.text,
                "attachments": list(one.attachments),
                "change": one.change,
                "by": one.by,
                "at": to_iso(one.at),
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
    is_status_poll=True,
)
async def search(
    ctx: Context,
    words: Annotated[str, Meta(description="Words that the message must all contain", min_length=1, max_length=500)],
    name: Annotated[str, Meta(description="Only this room; all your rooms by default", max_length=63)] = "",
    limit: Limit = 50,
    before: Annotated[str, Meta(description="Only messages older than this one", max_length=64)] = "",
) -> MessageMatches:
    """Search the messages of your rooms by words, newest first, in pages."""
    rooms = (
        [get_member_room(ctx, name)]
        if name
        else [one for one in ctx.services.rooms.of_tenant(ctx.caller.tenant) if one.is_visible_to(ctx.caller)]
    )
    if before:
        await _check_message(ctx, rooms, before)
    found = await ctx.services.messages.search(rooms, words, int(limit) + 1, before)
    items = [shown_message(one) for one in found[: int(limit)]]
    return {"items": items, "next": items[-1]["id"] if len(found) > len(items) else None}


async def _check_message(ctx: Context, rooms: list[Room], id: str) -> None:
    if not await ctx.services.messages.is_in(rooms, id):
        raise NotFound(f"There is no message {id[:64]!r} in the searched rooms.")
