"""Commands room/say, room/edit and room/delete: send, edit and delete messages."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.room import RoomName, get_member_room, get_reachable_room
from doorward.commands.room_message import MessageFacts, MessageId, describe_message, is_moderator
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, NoUndo, Undo
from doorward.core.errors import BadParams, Conflict, NotPermitted
from doorward.core.escape_invisible import to_storable
from doorward.gate.approval import Approval
from doorward.rooms.message import Card, ChatVerdict, Message, parse_verdict, resembles_verdict
from doorward.rooms.messages import LARGEST_MESSAGE
from doorward.rooms.rooms import Room
from doorward.store import before_images
from doorward.store.before_images import BeforeImage
from doorward.store.sqlite import Statement

family = Family("room", category="rooms")

MessageText = Annotated[str, Meta(description="The message", min_length=1, max_length=LARGEST_MESSAGE)]
_AN_ID = "01k9x2m4q7ab3cde"
_MAX_APPROVALS_SEARCHED = 500
"""The number of newest approvals that are searched for one that is pending in the room."""
_RECENT_SECONDS = 600.0
"""How long a person may still mean an approval that is no longer pending."""
_encode = msgspec.json.Encoder().encode


class ChatDecision(TypedDict):
    """The approval that a person decided with a chat message."""

    approval: str
    verdict: Literal["approve", "deny"]
    state: Annotated[str, Meta(description="The state of the approval now")]
    command: Annotated[str, Meta(description="The command that waited")]


class SentMessage(TypedDict):
    message: Annotated[str, Meta(description="The id of the message")]
    room: str
    revision: Annotated[int, Meta(description="The room's revision after this message")]
    decided: NotRequired[ChatDecision]
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
    idempotency_param="key",
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
) -> SentMessage:
    """Send a message to a room you are a member of.

    A person who sends only `approve` or `deny`, optionally followed by an approval's id, decides the approval that is
    pending in the room. Without the id, it must be the only one they may mean: it was shown to them, and no other one
    was pending since their last message or decision. After `deny` and the id, a reason for the caller may follow.
    """
    room = get_writable_room(ctx, name or ctx.call.room)
    if not text.strip() and not attachments:
        raise BadParams("A message needs a text, attachments or both; neither was given.")
    before = await ctx.services.messages.find_by_key(room, ctx.caller, key) if key else None
    if before is not None:
        return _answer_repeat(ctx, before, text, reply_to)
    if reply_to:
        await ctx.services.messages.get(room, reply_to)
    files = await ctx.services.files.require_unattached(room, ctx.caller.principal, attachments)
    try:
        message = await ctx.services.messages.post(
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
        before = await ctx.services.messages.find_by_key(room, ctx.caller, key)
        if before is None:
            raise
        return _answer_repeat(ctx, before, text, reply_to)
    said: SentMessage = {"message": message.id, "room": room.id, "revision": message.revision}
    word = parse_verdict(text) if ctx.caller.kind == "human" else None
    if word is not None:
        await _decide(ctx, room, word, said)
    elif ctx.caller.kind == "human" and resembles_verdict(text) and (waiting := await _pending_approvals(ctx, room)):
        said["note"] = f"Nothing was decided. To decide, send only {_describe_choices(waiting)}"
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
async def edit(ctx: Context, name: RoomName, message: MessageId, text: MessageText) -> MessageFacts:
    """Edit the text of your message. Owners and admins of the room can see the earlier versions."""
    found = await _get_changeable_message(ctx, name, message, anybody=False)
    if not text.strip():
        raise BadParams("A message cannot be empty. Delete it with room/delete instead.")
    by = ctx.caller.id
    return describe_message(
        await ctx.services.messages.edit(found, by, text, also=lambda new: [_keep_before_image(ctx, found, new)])
    )


@edit.describes_effect
async def edit_effect(ctx: Context, name: str, message: str, text: str) -> dict[str, Any]:
    found = await _get_changeable_message(ctx, name, message, anybody=False)
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
async def delete(ctx: Context, name: RoomName, message: MessageId) -> MessageFacts:
    """Delete your message or, as an owner or admin of the room, any message. A marker stays visible in its place."""
    found = await _get_changeable_message(ctx, name, message, anybody=True)
    by = ctx.caller.id
    return describe_message(
        await ctx.services.messages.delete(found, by, also=lambda new: [_keep_before_image(ctx, found, new)])
    )


@delete.describes_effect
async def delete_effect(ctx: Context, name: str, message: str) -> dict[str, Any]:
    found = await _get_changeable_message(ctx, name, message, anybody=True)
    return {"before": found.text, "after": None}


@family.undoer("message")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous version of a message, unless it has changed since."""
    (image,) = images
    old = msgspec.json.decode(image.before or b"", type=Message)
    room = get_writable_room(ctx, old.room)
    now = await ctx.services.messages.get(room, old.id)
    if now.revision != int(image.after):
        raise Conflict(f"The message {old.id} has changed since. Nothing was undone.")
    done = before_images.mark_undone(image.call, ctx.call.id)
    await ctx.services.messages.restore(
        now, old, ctx.caller.id, also=lambda new: [done, _keep_before_image(ctx, now, new)]
    )
    return {"message": old.id, "room": room.id, "now": "as before"}


def _keep_before_image(ctx: Context, old: Message, new: Message) -> Statement:
    return before_images.store_image(
        ctx.call,
        kind="message",
        target=old.id,
        before=_encode(old),
        after=str(new.revision),
        at=ctx.services.clock.now(),
    )


def get_writable_room(ctx: Context, name: str) -> Room:
    """Find a room where this caller may send messages: for agents and programs their current room, for people any
    room they are a member of."""
    room = get_reachable_room(ctx, name)
    if room.archived:
        raise NotPermitted(f"The room {room.id!r} is archived. It accepts no more messages.")
    if room.membership_of(ctx.caller) is None or (ctx.caller.kind != "human" and room.id != ctx.call.room):
        raise NotPermitted(f"You are not a member of room {room.id!r}, or it is not your current room.")
    return room


async def _get_changeable_message(ctx: Context, name: str, message: str, *, anybody: bool) -> Message:
    """Find a message that this caller may change: its own; with `anybody`, moderators may change those of others."""
    room = get_member_room(ctx, get_writable_room(ctx, name).id)
    found = await ctx.services.messages.get(room, message)
    if found.deleted_at is not None:
        raise Conflict(f"The message {message} is already deleted, by {found.deleted_by}.")
    if not found.is_of(ctx.caller) and not (anybody and is_moderator(ctx, room)):
        by = "Only its sender and the owners and admins of the room" if anybody else "Only its sender"
        raise NotPermitted(f"{by} may do that; message {message} is from {found.sender!r}.")
    if not anybody and any(isinstance(one, Card) for one in found.attachments):
        raise Conflict(f"The message {message} shows a call and cannot be edited. It can be deleted.")
    return found


def _answer_repeat(ctx: Context, message: Message, text: str, reply_to: str) -> SentMessage:
    """The answer to a message that was already sent with the same key. It decides nothing again: another approval may
    be pending by now."""
    untouched = message.edited_at is None and message.deleted_at is None
    same = (message.kind, message.reply_to) == (ctx.caller.kind, reply_to)
    if not same or (untouched and message.text != to_storable(text)):
        raise Conflict(f"You already sent another message, {message.id}, with this key. Use a new key.")
    said: SentMessage = {"message": message.id, "room": message.room, "revision": message.position}
    if ctx.caller.kind == "human" and parse_verdict(text) is not None:
        said["note"] = "This message was already sent with the same key. Nothing more was decided."
    return said


async def _decide(ctx: Context, room: Room, word: ChatVerdict, said: SentMessage) -> None:
    """Apply a person's `approve` or `deny` to the one approval it means, and report the result in `said`."""
    approvals, waiting = ctx.services.approvals, await _pending_approvals(ctx, room)
    meant = [one for one in waiting if word.approval in ("", one.id)]
    if len(meant) != 1:
        said["note"] = _explain_undecided(word, waiting, len(meant))
        return
    (approval,) = meant
    may_decide = approvals.may_decide(ctx.caller, approval)  # others are told by the decision itself that they may not
    if may_decide and not word.approval and (doubt := await _doubt(ctx, room, approval, said["revision"])):
        approvals.shown.note(ctx.caller, approval.id)
        said["note"] = f"Nothing was decided, because {doubt}. {_describe_pending([approval])}"
        return
    params = {"id": approval.id, **({"reason": word.reason} if word.reason else {})}
    outcome = await ctx.services.run_nested(ctx.call, f"approval/{word.word}", params)
    if outcome.status != "done":
        said["note"] = f"{approval.command} was not decided: {outcome.message}"
        return
    said["decided"] = {
        "approval": approval.id,
        "verdict": word.word,
        "state": outcome.result["state"],
        "command": approval.command,
    }


async def _doubt(ctx: Context, room: Room, approval: Approval, position: int) -> str:
    """Why a person who names no approval may mean another one than the one that is pending now; empty if none."""
    approvals = ctx.services.approvals
    spoke = await ctx.services.messages.last_by(room, ctx.caller.id, position)
    if spoke < approval.created_at and not approvals.shown.has_seen(ctx.caller, approval.id):
        return "this approval has not been shown to you yet"
    acted = max(spoke, await approvals.last_decision_of(ctx.caller), ctx.services.clock.now() - _RECENT_SECONDS)
    others = await approvals.newest(room.tenant, _MAX_APPROVALS_SEARCHED)
    if any(one.room == room.id and one.id != approval.id and one.waited_until > acted for one in others):
        return "another approval was pending when you last sent a message or decided"
    return ""


async def _pending_approvals(ctx: Context, room: Room) -> list[Approval]:
    newest = await ctx.services.approvals.newest(room.tenant, _MAX_APPROVALS_SEARCHED)
    return [one for one in newest if one.room == room.id and one.state == "pending"]


def _describe_choices(waiting: list[Approval]) -> str:
    ids = "; ".join(f"{one.id} ({one.command} by {one.caller})" for one in waiting[:10])
    return f"approve or deny, alone or followed by the id. Pending: {ids}."


def _explain_undecided(word: ChatVerdict, waiting: list[Approval], meant: int) -> str:
    which = f" with id {word.approval}" if word.approval else ""
    several = "More than one approval" if meant > 1 else f"No approval{which}"
    also = f" {_describe_pending(waiting)}" if waiting else ""
    return f"{several} is pending in this room, so nothing was decided.{also}"


def _describe_pending(waiting: list[Approval]) -> str:
    there = "; ".join(f"{one.id}: {one.command} by {one.caller}" for one in waiting[:10])
    return f"Pending: {there}. Send approve or deny followed by the id."
