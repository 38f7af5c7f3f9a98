"""A message as commands and streams show it, and which of them a caller may change."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from doorward.backends.context import Context
from doorward.clock import iso
from doorward.facts import Role
from doorward.model import Kind
from doorward.rooms.message import Attachment, Card, File, Message
from doorward.rooms.rooms import Room

MessageId = Annotated[str, Meta(description="The message", min_length=1, max_length=64)]


class MessageFacts(TypedDict):
    id: str
    room: str
    sender: str
    kind: Kind
    onBehalfOf: Annotated[str, Meta(description="The person for whom an AI or a program said it")]
    text: Annotated[str, Meta(description="As it was written, hidden characters included; empty when it is taken back")]
    at: str
    revision: Annotated[int, Meta(description="Counts up in the room with every message and every change of one")]
    position: Annotated[int, Meta(description="Its place in the room, whatever is changed of it later")]
    editedAt: str | None
    deletedAt: str | None
    deletedBy: str
    replyTo: str
    attachments: Annotated[list[File | Card], Meta(description="Files, and calls with how they stand")]


def shown(message: Message) -> MessageFacts:
    return {
        "id": message.id,
        "room": message.room,
        "sender": message.sender,
        "kind": message.kind,
        "onBehalfOf": message.behalf,
        "text": message.text,
        "at": iso(message.at),
        "revision": message.revision,
        "position": message.position,
        "editedAt": None if message.edited_at is None else iso(message.edited_at),
        "deletedAt": None if message.deleted_at is None else iso(message.deleted_at),
        "deletedBy": message.deleted_by,
        "replyTo": message.reply_to,
        "attachments": list(message.attachments),
    }


def keeps_order(ctx: Context, room: Room) -> bool:
    """Whether a caller looks after a room: a person who is one of its owners or admins."""
    member = room.members.get(ctx.caller.id)
    return ctx.caller.kind == "human" and member is not None and member.role is not Role.MEMBER


def plain(attachments: tuple[Attachment, ...]) -> list[Any]:
    return [msgspec.to_builtins(one) for one in attachments]
