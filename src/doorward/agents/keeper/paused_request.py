"""Paused requests: store the state of a keeper's request whose call waits for approval, and load it to resume.

The state survives a restart. It holds the transcript as the model saw it, with secrets redacted.
"""

from __future__ import annotations

import msgspec

from doorward.agents.models.model import ChatTurn
from doorward.commands.context import Context
from doorward.core.errors import NotFound
from doorward.gate.approval import Approval
from doorward.store import keeper_waits


class PausedRequest(msgspec.Struct, frozen=True, kw_only=True):
    asked: str
    """The request."""
    turns: tuple[ChatTurn, ...]
    """The transcript so far."""
    answers: str
    """The provider's id of the waiting call, which its result must carry."""
    tool: str
    """The tool that the model called."""
    model: str
    part: bool = False
    """Whether only a part of the model's tool call waits."""
    folder: str = ""
    """The keeper's working folder at that time."""


_MINUTE = 60
PARTIAL_RESULT = "\nOnly this part of your line was run; the rest after it was not."


async def save(ctx: Context, session: str, ticket: str, left: PausedRequest) -> Approval:
    """Store a paused request under the approval that it waits for."""
    approval = await _find_approval(ctx, ticket)
    body = msgspec.json.encode(left).decode()
    await ctx.store.write(keeper_waits.put(ticket, ctx.caller.tenant, session, body, ctx.services.clock.now()))
    return approval


async def load(ctx: Context, session: str, ticket: str) -> tuple[PausedRequest, Approval]:
    """Load the paused request of a ticket with its approval. Raises NotFound if it belongs to somebody else."""
    body = await keeper_waits.get(ctx.store, ctx.caller.tenant, session, ticket)
    if body is None:
        raise _not_found(ticket)
    return msgspec.json.decode(body, type=PausedRequest), await _find_approval(ctx, ticket)


async def delete(ctx: Context, session: str, ticket: str) -> None:
    await ctx.store.write(keeper_waits.close(ctx.caller.tenant, session, ticket))


async def _find_approval(ctx: Context, ticket: str) -> Approval:
    """Return the approval of a call that the keeper made for this caller. Others are reported as not found."""
    approval = await ctx.services.approvals.find(ctx.caller.tenant, ticket)
    keeper = ctx.caller.as_keeper()
    if (approval.caller, approval.kind, approval.behalf) != (keeper.id, keeper.kind, keeper.on_behalf_of):
        raise _not_found(ticket)
    return approval


def _not_found(ticket: str) -> NotFound:
    return NotFound(
        f"No request in this session waits for ticket {ticket!r}: it was resumed, or belongs to another session.",
        hint="Send the request again without a ticket.",
    )


def describe_pending(approval: Approval, session: str) -> str:
    """Say which call waits, who decides, and how to continue."""
    room = f" --room {approval.room}" if approval.room else ""
    return (
        f"Waiting for approval: {approval.call_text}\n"
        f"{_describe_deciders(approval)}: doorward approvals approve {approval.id} (or deny; also in the console, or "
        f"with approval/approve). Then continue with: doorward ai{room} --session {session} --ticket {approval.id} (or "
        "agent/ask, at any door, with this session and ticket)."
    )


def _describe_deciders(approval: Approval) -> str:
    """Say who decides, and how long they have."""
    seconds = approval.expires_at - approval.created_at
    until = f"{seconds / _MINUTE:g} minutes" if seconds >= 2 * _MINUTE else f"{seconds:g} seconds"
    who = f"The owners and admins in the room {approval.room!r} decide" if approval.room else "You decide"
    return f"{who}, within {until}"


def describe_not_approved(approval: Approval) -> str:
    """Say why a call will not run."""
    why = {
        "denied": "Denied",
        "expired": "Expired; nobody decided in time",
        "used": "Already run",
    }.get(approval.state, f"It is {approval.state}")
    return f"{why}: {approval.command} was not run. Nothing else was done. Send the request again if you still need it."
