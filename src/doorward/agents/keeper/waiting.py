"""Where the keeper left off because a call of its waits for a person, and how it takes that up again.

It is stored, so that a person may take their time and the house may be restarted meanwhile. What was found so far is
kept as the model saw it, without secrets.
"""

from __future__ import annotations

import msgspec

from doorward.agents.models.model import Turn
from doorward.approvals.approvals import Approval
from doorward.backends.context import Context
from doorward.errors import NotFound
from doorward.store import keeper_waits


class LeftOff(msgspec.Struct, frozen=True, kw_only=True):
    asked: str
    """What was wanted."""
    turns: tuple[Turn, ...]
    """What the model said and was told until then."""
    answers: str
    """The provider's id of the call that waits, which its result must carry."""
    tool: str
    """The tool that the model called."""
    model: str
    part: bool = False
    """Whether the call that waits is only a part of what the model wanted."""
    folder: str = ""
    """Where the keeper had gone by then."""


_MINUTE = 60
PART = "\nOnly this call of what you asked for was run; what stood behind it was not."


async def leave_off(ctx: Context, session: str, ticket: str, left: LeftOff) -> Approval:
    """Remember where the keeper left off, by the approval that it waits for."""
    approval = await _own(ctx, ticket)
    body = msgspec.json.encode(left).decode()
    await ctx.store.write(keeper_waits.put(ticket, ctx.caller.tenant, session, body, ctx.house.clock.now()))
    return approval


async def take_up(ctx: Context, session: str, ticket: str) -> tuple[LeftOff, Approval]:
    """What waits in this session for this ticket, and how people decided; refused when it is of somebody else."""
    body = await keeper_waits.get(ctx.store, ctx.caller.tenant, session, ticket)
    if body is None:
        raise _nothing(ticket)
    return msgspec.json.decode(body, type=LeftOff), await _own(ctx, ticket)


async def close(ctx: Context, session: str, ticket: str) -> None:
    await ctx.store.write(keeper_waits.close(ctx.caller.tenant, session, ticket))


async def _own(ctx: Context, ticket: str) -> Approval:
    """The approval of a call that the keeper made for this caller; of another's it is not said that there is one."""
    approval = await ctx.house.approvals.find(ctx.caller.tenant, ticket)
    keeper = ctx.caller.thinking()
    if (approval.caller, approval.kind, approval.behalf) != (keeper.id, keeper.kind, keeper.on_behalf_of):
        raise _nothing(ticket)
    return approval


def _nothing(ticket: str) -> NotFound:
    return NotFound(
        f"Nothing in this session waits for {ticket!r}; it was taken up before, or belongs to another session.",
        hint="Ask anew, without a ticket.",
    )


def how_to_go_on(approval: Approval, session: str) -> str:
    """What waits, exactly, who decides, and how it goes on then."""
    room = f" --room {approval.room}" if approval.room else ""
    return (
        f"This waits for a person: {approval.shown}\n"
        f"{_who(approval)}: doorward approvals approve {approval.id} (or deny; also in the console, or by "
        f"approval/approve). Then go on with: doorward ai{room} --session {session} --ticket {approval.id} (or "
        "agent/ask, at any door, with this session and ticket)."
    )


def _who(approval: Approval) -> str:
    """Who decides, and for how long they can."""
    seconds = approval.expires_at - approval.created_at
    until = f"{seconds / _MINUTE:g} minutes" if seconds >= 2 * _MINUTE else f"{seconds:g} seconds"
    who = f"The owners and admins in the room {approval.room!r} decide" if approval.room else "You decide"
    return f"{who}, within {until}"


def not_approved(approval: Approval) -> str:
    """What is said of a call that will not run."""
    why = {
        "denied": "A person said no",
        "expired": "Nobody said yes in time, which counts as no",
        "used": "It was run already",
    }.get(approval.state, f"It is {approval.state}")
    return f"{why}: {approval.command} was not run. Nothing else was done; ask anew if it still matters."
