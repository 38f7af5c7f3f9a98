"""Commands room/attach and room/attachment: upload and read attachments of messages."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.room import RoomName, get_member_room
from doorward.commands.room_message import is_moderator
from doorward.commands.room_messages import get_writable_room
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo, shorten
from doorward.core.errors import BadParams, NotFound
from doorward.rooms.message import File

family = Family("room", category="rooms")

_AN_ID = "01k9x2m4q7ab3cde"
_PAGE = 15_000


class AttachmentFacts(TypedDict):
    id: Annotated[str, Meta(description="The attachment's id, for `attachments` of room/say")]
    room: str
    name: str
    mediaType: Annotated[str, Meta(description="The media type, detected from the content")]
    size: Annotated[int, Meta(description="Size in bytes")]
    content: NotRequired[Annotated[str, Meta(description="The requested bytes, as base64")]]


@family.command(
    "attach",
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=20,
    undo=NoUndo("an upload that is not attached to a message is deleted automatically"),
    examples=[Example("upload a note", {"name": "lab", "file": "note.txt", "content": "SGVsbG8="})],
    related=["room/say", "room/attachment"],
)
async def attach(
    ctx: Context,
    name: RoomName,
    file: Annotated[str, Meta(description="The file name", min_length=1, max_length=500)],
    content: Annotated[str, Meta(description="The content, as base64", min_length=1, max_length=14_000_000)],
) -> AttachmentFacts:
    """Upload an attachment to a room. Then pass its id to room/say to attach it to a message."""
    room = get_writable_room(ctx, name)
    try:
        decoded = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadParams(
            f"room/attach: content must be base64; given {shorten(content)}, which is not: {error}."
        ) from error
    return _describe(room.id, await ctx.services.files.upload(room, ctx.caller.principal, file, decoded))


@family.command(
    "attachment",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("what is this file", {"name": "lab", "id": _AN_ID})],
    related=["room/messages", "room/attach"],
    is_status_poll=True,
)
async def attachment(
    ctx: Context,
    name: RoomName,
    id: Annotated[str, Meta(description="The attachment's id", min_length=1, max_length=64)],
    offset: Annotated[int, Meta(description="The first byte to read", ge=0, le=100_000_000)] = 0,
    length: Annotated[int, Meta(description="Number of bytes to read; none by default", ge=0, le=_PAGE)] = 0,
) -> AttachmentFacts:
    """Describe an attachment of a message and, with `length`, read a part of its content."""
    room = get_member_room(ctx, name)
    found = await ctx.services.files.find(room, id)
    if not await _may_read(ctx, name, found.message, id, found.uploader):
        raise NotFound(f"There is no file {id[:64]!r} in room {room.id!r}.")
    facts = _describe(room.id, found.file)
    if length:
        page = await ctx.services.files.content(room, id, int(offset), int(length))
        facts["content"] = base64.b64encode(page).decode()
    return facts


async def _may_read(ctx: Context, name: str, message: str, id: str, uploader: str) -> bool:
    """Whether this caller may read an attachment. Those of deleted messages are left to the room's moderators."""
    room = get_member_room(ctx, name)
    if not message:
        return uploader == ctx.caller.principal
    found = await ctx.services.messages.get(room, message)
    shows = any(isinstance(one, File) and one.id == id for one in found.attachments)
    return shows or is_moderator(ctx, room)


def _describe(room: str, file: File) -> AttachmentFacts:
    return {"id": file.id, "room": room, "name": file.name, "mediaType": file.media_type, "size": file.size}
