"""room/show and room/messages: look at one room, and read what was said in it."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.room import Name, RoomFacts, sees, shown
from doorward.clock import iso
from doorward.command import READS_ONLY, Example, Family
from doorward.errors import NotFound
from doorward.facts import Access, Effects, Safety, Tier
from doorward.model import Kind
from doorward.rooms.rooms import Room
from doorward.store import rooms as sql

family = Family("room", category="rooms")


class Message(TypedDict):
    id: str
    sender: str
    kind: Kind
    text: str
    at: str


class Messages(TypedDict):
    items: list[Message]
    next: Annotated[str | None, Meta(description="Give this as `before` to see older ones; null when there are none")]


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
    related=["room/list", "room/messages"],
)
async def show(ctx: Context, name: Name) -> RoomFacts:
    """Show a room you are a member of: its recipe, its members, and whether it is closed."""
    return shown(_seen(ctx, name))


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
    related=["room/say", "room/show"],
)
async def messages(
    ctx: Context,
    name: Name,
    limit: Annotated[int, Meta(description="At most so many, newest first", ge=1, le=200)] = 50,
    before: Annotated[str, Meta(description="Only older ones than this message", max_length=64)] = "",
) -> Messages:
    """Read what was said in a room you are a member of, newest first and in pages."""
    room = _seen(ctx, name)
    rows = await sql.messages(ctx.store, room.tenant, room.id, before=before, limit=int(limit) + 1)
    items: list[Message] = [
        {"id": row["id"], "sender": row["sender"], "kind": row["kind"], "text": row["text"], "at": iso(row["at"])}
        for row in rows[: int(limit)]
    ]
    return {"items": items, "next": items[-1]["id"] if len(rows) > len(items) else None}


def _seen(ctx: Context, name: str) -> Room:
    room = ctx.house.rooms.get(ctx.caller.tenant, name)
    if room is None or not sees(ctx, room):
        names = ", ".join(sorted(one.id for one in ctx.house.rooms.of(ctx.caller.tenant) if sees(ctx, one)))
        raise NotFound(f"There is no room {name[:80]!r} that you are a member of; yours: {names or 'none'}.")
    return room
