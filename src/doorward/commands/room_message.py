"""The description of a message in results and streams, and who moderates a room."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.classification import Role
from doorward.core.clock import to_iso
from doorward.core.model import Kind
from doorward.rooms.message import Card, File, Message
from doorward.rooms.rooms import Room

MessageId = Annotated[str, Meta(description="The id of the message", min_length=1, max_length=64)]


class MessageFacts(TypedDict):
    id: str
    room: str
    sender: str
    kind: Kind
    onBehalfOf: Annotated[str, Meta(description="The person the AI or program acts for")]
    text: Annotated[str, Meta(description="The text as written, with hidden characters; empty if deleted")]
    at: str
    revision: Annotated[int, Meta(description="Increases in the room with every new or changed message")]
    position: Annotated[int, Meta(description="Its position in the room, which never changes")]
    editedAt: str | None
    deletedAt: str | None
    deletedBy: str
    replyTo: str
    attachments: Annotated[list[File | Card], Meta(description="Files, and calls with their state")]


def describe_message(message: Message) -> MessageFacts:
    return {
        "id": message.id,
        "room": message.room,
        "sender": message.sender,
        "kind": message.kind,
        "onBehalfOf": message.behalf,
        "text": message.text,
        "at": to_iso(message.at),
        "revision": message.revision,
        "position": message.position,
        "editedAt": None if message.edited_at is None else to_iso(message.edited_at),
        "deletedAt": None if message.deleted_at is None else to_iso(message.deleted_at),
        "deletedBy": message.deleted_by,
        "replyTo": message.reply_to,
        "attachments": list(message.attachments),
    }


def is_moderator(ctx: Context, room: Room) -> bool:
    """Whether a caller moderates a room: a person who is one of its owners or admins."""
    member = room.members.get(ctx.caller.id)
    return ctx.caller.kind == "human" and member is not None and member.role is not Role.MEMBER
