"""room/say, room/edit and room/delete: speak in a room, and change or take back what was said."""

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
"""So many of the newest approvals are looked through for one that waits in the room."""
_encode = msgspec.json.Encoder().encode


class Decided(TypedDict):
    """What the chat word of a person came to."""

    approval: str
    verdict: Literal["approve", "deny"]
    state: Annotated[str, Meta(description="How the approval stands now")]
    command: Annotated[str, Meta(description="What it is about")]


class Said(TypedDict):
    message: Annotated[str, Meta(description="The id of what was said")]
    room: str
    revision: Annotated[int, Meta(description="The room's revision with it")]
    decided: NotRequired[Decided]
    note: NotRequired[Annotated[str, Meta(description="Why a word of decision decided nothing")]]


@family.command(
    "say",
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=NoUndo("what was said was heard; room/delete takes it back"),
    examples=[Example("greet the room", {"text": "Good morning"})],
    related=["room/messages", "room/wait", "room/edit", "room/attach"],
    once_by="key",
)
async def say(
    ctx: Context,
    text: Annotated[
        str, Meta(description="The message; it may be empty when files come with it", max_length=LARGEST_MESSAGE)
    ],
    name: Annotated[str, Meta(description="The room; by default the one you act in", max_length=63)] = "",
    attachments: Annotated[tuple[str, ...], Meta(description="The ids of files that room/attach took")] = (),
    reply_to: Annotated[str, Meta(description="The message that this answers", max_length=64)] = "",
    key: Annotated[
        str,
        Meta(
            description="A word of your own for this message; sent again with it, the message is there once",
            max_length=64,
        ),
    ] = "",
) -> Said:
    """Say something in a room you are a member of.

    When a person says nothing but `approve` or `deny`, with or without an approval's id behind it, that decides about
    what waits in the room.
    """
    room = spoken_in(ctx, name or ctx.call.room)
    if not text.strip() and not attachments:
        raise BadParams("A message has a text, files or both; given were neither.")
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
    except Conflict:  # the same may have come twice at once
        before = await ctx.house.messages.sent(room, ctx.caller, key)
        if before is None:
            raise
        return _sent_before(ctx, before, text, reply_to)
    said: Said = {"message": message.id, "room": room.id, "revision": message.revision}
    word = verdict(text) if ctx.caller.kind == "human" else None
    if word is not None:
        await _decide(ctx, room, word, said)
    elif ctx.caller.kind == "human" and begins_with_one(text) and (waiting := await _waiting(ctx, room)):
        said["note"] = f"Nothing was decided: only the bare word decides, {_ways(waiting)}"
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
    examples=[Example("say it in other words", {"name": "lab", "message": _AN_ID, "text": "Good evening"})],
    related=["room/say", "room/delete", "room/message"],
)
async def edit(ctx: Context, name: Name, message: MessageId, text: Text) -> MessageFacts:
    """Give a message of yours another text. What it was before is kept, and shown to those who look after the room."""
    found = await _changeable(ctx, name, message, anybody=False)
    if not text.strip():
        raise BadParams("A message cannot be made empty; take it back with room/delete.")
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
    examples=[Example("take back what I said", {"name": "lab", "message": _AN_ID})],
    related=["room/say", "room/edit", "room/message"],
)
async def delete(ctx: Context, name: Name, message: MessageId) -> MessageFacts:
    """Take back a message of yours or, in a room that you look after, anybody's. That it was there stays visible."""
    found = await _changeable(ctx, name, message, anybody=True)
    by = ctx.caller.id
    return shown(await ctx.house.messages.delete(found, by, also=lambda new: [_keep(ctx, found, new)]))


@delete.shows_effect
async def delete_effect(ctx: Context, name: str, message: str) -> dict[str, Any]:
    found = await _changeable(ctx, name, message, anybody=True)
    return {"before": found.text, "after": None}


@family.undoer("message")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Make a message what it was, unless it changed since."""
    (image,) = images
    old = msgspec.json.decode(image.before or b"", type=Message)
    room = spoken_in(ctx, old.room)
    now = await ctx.house.messages.get(room, old.id)
    if now.revision != int(image.after):
        raise Conflict(f"The message {old.id} changed since; nothing was undone.")
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
    """A room where this caller may speak: agents and programs in the room they act in, people in each of theirs."""
    room = known(ctx, name)
    if room.archived:
        raise NotPermitted(f"The room {room.id!r} is archived; nothing is said in it any more.")
    if room.member(ctx.caller) is None or (ctx.caller.kind != "human" and room.id != ctx.call.room):
        raise NotPermitted(f"You are not a member of room {room.id!r}, or do not act in it.")
    return room


async def _changeable(ctx: Context, name: str, message: str, *, anybody: bool) -> Message:
    """A message that this caller may change: its own, and to take it back, others' by those who look after the room."""
    room = seen(ctx, spoken_in(ctx, name).id)
    found = await ctx.house.messages.get(room, message)
    if found.deleted_at is not None:
        raise Conflict(f"The message {message} was taken back already, by {found.deleted_by}.")
    if not found.is_of(ctx.caller) and not (anybody and keeps_order(ctx, room)):
        by = "Only whoever said it, and the owners and admins of the room," if anybody else "Only whoever said it"
        raise NotPermitted(f"{by} may do that; message {message} is of {found.sender!r}.")
    if not anybody and any(isinstance(one, Card) for one in found.attachments):
        raise Conflict(f"The message {message} shows a call, which nobody writes anew; it can be taken back.")
    return found


def _sent_before(ctx: Context, message: Message, text: str, reply_to: str) -> Said:
    """The answer to a message that was sent under the same key before. It decides nothing again: by now something else
    may wait than what the word was said to."""
    untouched = message.edited_at is None and message.deleted_at is None
    same = (message.kind, message.reply_to) == (ctx.caller.kind, reply_to)
    if not same or (untouched and message.text != storable(text)):
        raise Conflict(f"Another message of yours, {message.id}, was sent under this key; take a new one.")
    said: Said = {"message": message.id, "room": message.room, "revision": message.position}
    if ctx.caller.kind == "human" and verdict(text) is not None:
        said["note"] = "This was said before under the same key, and nothing more was decided now."
    return said


async def _decide(ctx: Context, room: Room, word: Verdict, said: Said) -> None:
    """Carry a person's word to the one approval that it means, and say what came of it."""
    waiting = await _waiting(ctx, room)
    meant = [one for one in waiting if word.approval in ("", one.id)]
    if len(meant) != 1:
        said["note"] = _undecided(word, waiting, len(meant))
        return
    (approval,) = meant
    outcome = await ctx.house.ask(ctx.call, f"approval/{word.word}", {"id": approval.id})
    if outcome.status != "done":
        said["note"] = f"Nothing was decided about {approval.command}: {outcome.message}"
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
    return f"approve or deny, alone or with the id behind it. There waits: {ids}."


def _undecided(word: Verdict, waiting: list[Approval], meant: int) -> str:
    which = f" under {word.approval}" if word.approval else ""
    several = "More than one thing waits" if meant > 1 else f"Nothing waits{which}"
    there = "; ".join(f"{one.id}: {one.command} by {one.caller}" for one in waiting[:10])
    also = f" There waits: {there}. Say the word with the id behind it." if there else ""
    return f"{several} for a decision in this room, so nothing was decided.{also}"
