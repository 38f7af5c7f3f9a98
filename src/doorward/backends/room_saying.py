"""Commands room/say, room/edit and room/delete: send, edit and delete messages."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from doorward.approvals.approvals import Approval
from doorward.backends.context import Context
from doorward.backends.room import Name, known, seen
from doorward.backends.room_message import MessageFacts, MessageId, keeps_order, shown
from doorward.command import Example, Family, NoUndo, Undo
from doorward.errors import BadParams, Conflict, NotPermitted
from doorward.facts import Access, Effects, Safety, Tier
from doorward.rooms.message import Card, Message
from doorward.rooms.messages import LARGEST_MESSAGE
from doorward.rooms.rooms import Room
from doorward.rooms.words import Verdict, begins_with_one, verdict
from doorward.store import before_images
from doorward.store.before_images import BeforeImage
from doorward.store.sqlite import Statement
from doorward.visible import storable

family = Family("room", category="rooms")

Text = Annotated[str, Meta(description="The message", min_length=1, max_length=LARGEST_MESSAGE)]
_AN_ID = "01k9x2m4q7ab3cde"
_LOOKED_THROUGH = 500
"""The number of newest approvals that are searched for one that is pending in the room."""
_encode = msgspec.json.Encoder().encode


class Decided(TypedDict):
    """The approval that a person decided with a chat message."""

    approval: str
    verdict: Literal["approve", "deny"]
    state: Annotated[str, Meta(description="The state of the approval now")]
    command: Annotated[str, Meta(description="The command that waited")]


class Said(TypedDict):
    message: Annotated[str, Meta(description="The id of the message")]
    room: str
    revision: Annotated[int, Meta(description="The room's revision after this message")]
    decided: NotRequired[Decided]
    note: NotRequired[Annotated[str, Meta(description="Why `approve` or `deny` decided nothing")]]


@family.command(
    "say",
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=NoUndo("others may have read the message; delete it with room/delete"),
    examples=[Example("greet the room", {"text": "Good morning"})],
    related=["room/messages", "room/wait", "room/edit", "room/attach"],
    once_by="key",
)
async def say(
    ctx: Context,
    text: Annotated[
        str, Meta(description="The message; may be empty if there are attachments", max_length=LARGEST_MESSAGE)
    ],
    name: Annotated[str, Meta(description="The room; the current room by default", max_length=63)] = "",
    attachments: Annotated[tuple[str, ...], Meta(description="The ids of attachments, from room/attach")] = (),
    reply_to: Annotated[str, Meta(description="The id of the message to reply to", max_length=64)] = "",
    key: Annotated[
        str,
        Meta(
            description="Idempotency key of your own: sending again with the same key sends the message only once",
            max_length=64,
        ),
    ] = "",
) -> Said:
    """Send a message to a room you are a member of.

    A person who sends only `approve` or `deny`, optionally followed by an approval's id, decides the approval that is
    pending in the room.
    """
    room = spoken_in(ctx, name or ctx.call.room)
    if not text.strip() and not attachments:
        raise BadParams("A message needs a text, attachments or both; neither was given.")
    before = await ctx.house.messages.sent(room, ctx.caller, key) if key else None
    if before is not None:
        return _sent_before(ctx, before, text, reply_to)
    if reply_to:
        await ctx.house.messages.get(room, reply_to)
    files = await ctx.house.files.of(room, ctx.caller.whose, attachments)
    try:
        message = await ctx.house.messages.say(
            room,
            ctx.caller.id,
            ctx.caller.kind,
            text,
            attachments=files,
            reply_to=reply_to,
            behalf=ctx.caller.on_behalf_of,
            key=key,
        )
    except Conflict:  # the same message may have arrived twice at once
        before = await ctx.house.messages.sent(room, ctx.caller, key)
        if before is None:
            raise
        return _sent_before(ctx, before, text, reply_to)
    said: Said = {"message": message.id, "room": room.id, "revision": message.revision}
    word = verdict(text) if ctx.caller.kind == "human" else None
    if word is not None:
        await _decide(ctx, room, word, said)
    elif ctx.caller.kind == "human" and begins_with_one(text) and (waiting := await _waiting(ctx, room)):
        said["note"] = f"Nothing was decided. To decide, send only {_ways(waiting)}"
    return said


@family.command(
    "edit",
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=Undo("message"),
    examples=[Example("change the text of a message", {"name": "lab", "message": _AN_ID, "text": "Good evening"})],
    related=["room/say", "room/delete", "room/message"],
)
async def edit(ctx: Context, name: Name, message: MessageId, text: Text) -> MessageFacts:
    """Edit the text of your message. Owners and admins of the room can see the earlier versions."""
    found = await _changeable(ctx, name, message, anybody=False)
    if not text.strip():
        raise BadParams("A message cannot be empty. Delete it with room/delete instead.")
    by = ctx.caller.id
    return shown(await ctx.house.messages.edit(found, by, text, also=lambda new: [_keep(ctx, found, new)]))


@edit.shows_effect
async def edit_effect(ctx: Context, name: str, message: str, text: str) -> dict[str, Any]:
    found = await _changeable(ctx, name, message, anybody=False)
    return {"before": found.text, "after": text}


@family.command(
    "delete",
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=10,
    undo=Undo("message"),
    examples=[Example("delete my message", {"name": "lab", "message": _AN_ID})],
    related=["room/say", "room/edit", "room/message"],
)
async def delete(ctx: Context, name: Name, message: MessageId) -> MessageFacts:
    """Delete your message or, as an owner or admin of the room, any message. A marker stays visible in its place."""
    found = await _changeable(ctx, name, message, anybody=True)
    by = ctx.caller.id
    return shown(await ctx.house.messages.delete(found, by, also=lambda new: [_keep(ctx, found, new)]))


@delete.shows_effect
async def delete_effect(ctx: Context, name: str, message: str) -> dict[str, Any]:
    found = await _changeable(ctx, name, message, anybody=True)
    return {"before": found.text, "after": None}


@family.undoer("message")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous version of a message, unless it has changed since."""
    (image,) = images
    old = msgspec.json.decode(image.before or b"", type=Message)
    room = spoken_in(ctx, old.room)
    now = await ctx.house.messages.get(room, old.id)
    if now.revision != int(image.after):
        raise Conflict(f"The message {old.id} has changed since. Nothing was undone.")
    done = before_images.mark_undone(image.call, ctx.call.id)
    await ctx.house.messages.restore(now, old, ctx.caller.id, also=lambda new: [done, _keep(ctx, now, new)])
    return {"message": old.id, "room": room.id, "now": "as before"}


def _keep(ctx: Context, old: Message, new: Message) -> Statement:
    return before_images.keep(
        ctx.call,
        kind="message",
        target=old.id,
        before=_encode(old),
        after=str(new.revision),
        at=ctx.house.clock.now(),
    )


def spoken_in(ctx: Context, name: str) -> Room:
    """Find a room where this caller may send messages: for agents and programs their current room, for people any
    room they are a member of."""
    room = known(ctx, name)
    if room.archived:
        raise NotPermitted(f"The room {room.id!r} is archived. It accepts no more messages.")
    if room.member(ctx.caller) is None or (ctx.caller.kind != "human" and room.id != ctx.call.room):
        raise NotPermitted(f"You are not a member of room {room.id!r}, or it is not your current room.")
    return room


async def _changeable(ctx: Context, name: str, message: str, *, anybody: bool) -> Message:
    """Find a message that this caller may change: its own; with `anybody`, moderators may change those of others."""
    room = seen(ctx, spoken_in(ctx, name).id)
    found = await ctx.house.messages.get(room, message)
    if found.deleted_at is not None:
        raise Conflict(f"The message {message} is already deleted, by {found.deleted_by}.")
    if not found.is_of(ctx.caller) and not (anybody and keeps_order(ctx, room)):
        by = "Only its sender and the owners and admins of the room" if anybody else "Only its sender"
        raise NotPermitted(f"{by} may do that; message {message} is from {found.sender!r}.")
    if not anybody and any(isinstance(one, Card) for one in found.attachments):
        raise Conflict(f"The message {message} shows a call and cannot be edited. It can be deleted.")
    return found


def _sent_before(ctx: Context, message: Message, text: str, reply_to: str) -> Said:
    """The answer to a message that was already sent with the same key. It decides nothing again: another approval may
    be pending by now."""
    untouched = message.edited_at is None and message.deleted_at is None
    same = (message.kind, message.reply_to) == (ctx.caller.kind, reply_to)
    if not same or (untouched and message.text != storable(text)):
        raise Conflict(f"You already sent another message, {message.id}, with this key. Use a new key.")
    said: Said = {"message": message.id, "room": message.room, "revision": message.position}
    if ctx.caller.kind == "human" and verdict(text) is not None:
        said["note"] = "This message was already sent with the same key. Nothing more was decided."
    return said


async def _decide(ctx: Context, room: Room, word: Verdict, said: Said) -> None:
    """Apply a person's `approve` or `deny` to the one approval it means, and report the result in `said`."""
    waiting = await _waiting(ctx, room)
    meant = [one for one in waiting if word.approval in ("", one.id)]
    if len(meant) != 1:
        said["note"] = _undecided(word, waiting, len(meant))
        return
    (approval,) = meant
    outcome = await ctx.house.ask(ctx.call, f"approval/{word.word}", {"id": approval.id})
    if outcome.status != "done":
        said["note"] = f"{approval.command} was not decided: {outcome.message}"
        return
    said["decided"] = {
        "approval": approval.id,
        "verdict": word.word,
        "state": outcome.result["state"],
        "command": approval.command,
    }


async def _waiting(ctx: Context, room: Room) -> list[Approval]:
    newest = await ctx.house.approvals.newest(room.tenant, _LOOKED_THROUGH)
    return [one for one in newest if one.room == room.id and one.state == "pending"]


def _ways(waiting: list[Approval]) -> str:
    ids = "; ".join(f"{one.id} ({one.command} by {one.caller})" for one in waiting[:10])
    return f"approve or deny, alone or followed by the id. Pending: {ids}."


def _undecided(word: Verdict, waiting: list[Approval], meant: int) -> str:
    which = f" with id {word.approval}" if word.approval else ""
    several = "More than one approval" if meant > 1 else f"No approval{which}"
    there = "; ".join(f"{one.id}: {one.command} by {one.caller}" for one in waiting[:10])
    also = f" Pending: {there}. Send approve or deny followed by the id." if there else ""
    return f"{several} is pending in this room, so nothing was decided.{also}"
