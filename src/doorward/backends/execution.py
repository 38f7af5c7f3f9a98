"""execution/*: what runs at this moment, what became of a call, what it wrote, and how to stop it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from msgspec import Meta

from doorward.backends.context import Context
from doorward.clock import iso
from doorward.command import READS_ONLY, Example, Family, NoUndo
from doorward.errors import Conflict, NotFound
from doorward.executions.execution import Execution, State
from doorward.facts import Access, Effects, Role, Safety, Tier
from doorward.store import executions as sql
from doorward.store import results

family = Family("execution", category="history")

Id = Annotated[str, Meta(description="The execution, as its result or execution/list named it", max_length=64)]
Stream = Literal["result", "output", "stdout", "stderr"]
_LONGEST_STOP = 5.0
"""Seconds that a cancelled execution is given to end before the answer says that it has not yet."""


class Amounts(TypedDict, total=False):
    stdoutBytes: int
    stderrBytes: int


class ExecutionFacts(Amounts):
    """Where an execution stands. What is empty or not known is left out."""

    execution: str
    command: str
    state: State
    caller: str
    startedAt: str
    seconds: Annotated[float, Meta(description="How long it took, or has run so far")]
    room: NotRequired[str]
    fraction: NotRequired[Annotated[float, Meta(description="How much of the work is done, from 0 to 1")]]
    message: NotRequired[str]
    cancelledBy: NotRequired[str]
    inside: NotRequired[Annotated[str, Meta(description="The execution that this one is a part of")]]
    code: NotRequired[Annotated[str, Meta(description="How it ended, in one word")]]


class Page(TypedDict):
    items: list[ExecutionFacts]
    next: NotRequired[Annotated[int | None, Meta(description="What to give as `after` for more; null for no more")]]


class Piece(TypedDict):
    stream: Stream
    text: str
    offset: int
    total: Annotated[int, Meta(description="How many characters there are")]
    next: Annotated[int | None, Meta(description="The offset to read on at; null for no more")]
    running: bool


class Cancelled(TypedDict):
    execution: str
    command: str
    state: State
    cancelledBy: str
    ended: bool


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[
        Example("what of mine is running", {"live": True}),
        Example("the next page", {"limit": 20, "after": 4_200}),
    ],
    related=["execution/status", "execution/cancel"],
    tells_how_it_stands=True,
)
async def list_(
    ctx: Context,
    live: Annotated[bool, Meta(description="Only those that wait or run now")] = False,
    limit: Annotated[int, Meta(description="How many that ended to show", ge=1, le=200)] = 50,
    after: Annotated[int, Meta(description="Go on after this place, which `next` named; 0 begins", ge=0)] = 0,
    notable: Annotated[bool, Meta(description="Leave out what people only look at")] = False,
) -> Page:
    """List your executions: those that wait or run now, then those that ended, newest first.

    Yours are the ones you asked for and those that agents ask for on your behalf. A person who owns or administers a
    room also sees what agents and programs run there.
    """
    caller = ctx.caller
    items: list[ExecutionFacts] = []
    if not after:
        mine = (one for one in ctx.house.executions if _sees_live(ctx, one) and one.id != ctx.call.id)
        items = [_live(one) for one in mine if not (live and one.ended) and not (notable and _only_looks(one))]
    if live:
        return {"items": items}
    rows, more = await sql.recent(
        ctx.store,
        caller.tenant,
        caller.id,
        caller.on_behalf_of,
        caller.rooms,
        _governed(ctx),
        before=after or ctx.store.head.seq + 1,
        limit=limit,
        notable=notable,
    )
    recorded = [_recorded(row) for row in rows]
    stored = {one["execution"] for one in recorded}  # the end of a live one may have been stored just now
    return {"items": [one for one in items if one["execution"] not in stored] + recorded, "next": more}


@family.command(
    "status",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("how far is it", {"execution": "01k9x2m4q7ab3cde"})],
    related=["execution/output", "execution/cancel"],
    tells_how_it_stands=True,
)
async def status(ctx: Context, execution: Id) -> ExecutionFacts:
    """Say where an execution stands: queued, running, completed, failed, timed_out or cancelled, and for how long."""
    found = ctx.house.executions.get(execution)
    if found is not None and not _may_stop(ctx, found):
        raise _unknown(execution)
    if found is not None and found.id in ctx.house.executions:
        return _live(found)
    row = await sql.find(ctx.store, ctx.caller.tenant, execution)
    if row is None or not _sees(ctx, row["caller"], row["kind"], row["behalf"], row["room"]):
        raise _unknown(execution)
    return {**_recorded(row), **(_amounts(found) if found is not None else Amounts())}


@family.command(
    "output",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[
        Example("read on where it was cut", {"execution": "01k9x2m4q7ab3cde", "offset": 30_000}),
        Example("what has it complained about so far", {"execution": "01k9x2m4q7ab3cde", "stream": "stderr"}),
    ],
    related=["execution/status"],
    tells_how_it_stands=True,
)
async def output(
    ctx: Context,
    execution: Id,
    stream: Annotated[
        Stream | None,
        Meta(
            description="The kept result, or what was written: both streams as it came, or one; "
            "left out, the result if one is kept, else both streams"
        ),
    ] = None,
    offset: Annotated[int, Meta(description="The first character to show", ge=0)] = 0,
    length: Annotated[int, Meta(description="How many characters to show", ge=1, le=25_000)] = 20_000,
) -> Piece:
    """Read what an execution has written so far, or the rest of a result that was too long to show whole.

    Only your own can be read and, as a person, what agents and programs ran in a room you own or administer. While
    `running` is true there may be more later, from `next` on. What a program wrote stays for a short while after its
    end, a long result for hours.
    """
    found = ctx.house.executions.get(execution)
    if found is not None and not _sees_live(ctx, found):
        raise _unknown(execution)
    if stream in (None, "result") and (found is None or found.ended):
        kept = await results.find(ctx.store, ctx.caller.tenant, execution)
        if kept is not None and _sees(ctx, kept["caller"], kept["kind"], kept["behalf"], kept["room"]):
            return _page("result", kept["body"], offset, length, running=False)
    if found is not None and stream != "result":
        text = found.written.text(stream or "output") if found.written is not None else ""
        return _page(stream or "output", text, offset, length, running=not found.ended)
    if found is not None and not found.ended:
        raise Conflict(f"Execution {execution} has no result yet; it is {found.state}.", hint="Read its output.")
    raise NotFound(
        f"There is no kept result of an execution {execution!r} of yours; "
        f"long results are kept for {ctx.house.settings.limits.result_hours:g} hours."
    )


@family.command(
    "cancel",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=15,
    undo=NoUndo("what was stopped can only be asked for again"),
    examples=[Example("stop it", {"execution": "01k9x2m4q7ab3cde"})],
    related=["execution/list", "execution/status"],
)
async def cancel(ctx: Context, execution: Id) -> Cancelled:
    """Stop an execution that waits or runs, with every process it started.

    You may stop your own, and as a person those of agents that act for you and those in a room you own or administer.
    """
    found = _to_stop(ctx, execution)
    by = ctx.caller.id
    if not found.cancel(by):
        raise Conflict(f"Execution {execution} cannot be cancelled any more: it is {found.state}.")
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LONGEST_STOP):
            await found.closed()
    return {
        "execution": found.id,
        "command": found.call.command.name,
        "state": found.state,
        "cancelledBy": found.cancelled_by,
        "ended": found.ended,
    }


@cancel.shows_effect
async def cancel_effect(ctx: Context, execution: str) -> dict[str, Any]:
    found = _to_stop(ctx, execution)
    return {"wouldStop": found.id, "command": found.call.command.name, "state": found.state}


def _to_stop(ctx: Context, id: str) -> Execution:
    """The live execution that is meant, if this caller may stop it."""
    found = ctx.house.executions.get(id)
    if found is None or not _may_stop(ctx, found):
        raise NotFound(f"No execution {id!r} of yours waits or runs.", hint="See what does: execution/list")
    if found.id not in ctx.house.executions:
        raise Conflict(f"Execution {id} cannot be cancelled any more: it is {found.state}.")
    if found.encloses(ctx.execution):
        raise Conflict(f"Execution {id} is what this call runs inside of; it cannot cancel itself.")
    return found


def _sees(ctx: Context, who: str, kind: str, behalf: str, room: str | None) -> bool:
    """Whether an execution of the same tenant is this caller's to see; a credential for rooms sees only those.

    What agents and programs do in a room is the business of the people who answer for that room.
    """
    if not ctx.caller.reaches(room or ""):
        return False
    return ctx.caller.owns(who, behalf) or (kind != "human" and _governs(ctx, room or ""))


def _only_looks(one: Execution) -> bool:
    """Whether a person asked for it, and it changes no more than how far they have read.

    A page that shows this would be full of itself.
    """
    command = one.call.command
    return one.call.caller.kind == "human" and (command.reads_only or command.name == "room/mark")


def _sees_live(ctx: Context, one: Execution) -> bool:
    asker = one.call.caller
    return ctx.caller.tenant == asker.tenant and _sees(ctx, asker.id, asker.kind, asker.on_behalf_of, one.call.room)


def _governs(ctx: Context, room: str) -> bool:
    """Whether the caller is a person who owns or administers a room."""
    found = ctx.house.rooms.get(ctx.caller.tenant, room) if room and ctx.caller.kind == "human" else None
    member = found.members.get(ctx.caller.id) if found is not None else None
    return member is not None and member.role in (Role.OWNER, Role.ADMIN)


def _governed(ctx: Context) -> list[str]:
    return [room.id for room in ctx.house.rooms.of(ctx.caller.tenant) if _governs(ctx, room.id)]


def _may_stop(ctx: Context, one: Execution) -> bool:
    """Agents stop only their own, not those of others who act for the same person."""
    caller, asker, room = ctx.caller, one.call.caller, one.call.room
    if caller.tenant != asker.tenant or not caller.reaches(room):
        return False
    if (caller.id, caller.kind, caller.on_behalf_of) == (asker.id, asker.kind, asker.on_behalf_of):
        return True
    return caller.kind == "human" and (caller.id == asker.on_behalf_of or _governs(ctx, room))


def _unknown(id: str) -> NotFound:
    return NotFound(f"There is no execution {id!r} of yours.", hint="See yours: execution/list")


def _live(one: Execution) -> ExecutionFacts:
    call = one.call
    shown = {
        "execution": one.id,
        "command": call.command.name,
        "state": one.state,
        "room": call.room,
        "caller": call.caller.id,
        "startedAt": iso(one.started_at),
        "seconds": round(one.seconds, 3),
        "fraction": one.fraction,
        "message": one.message,
        "cancelledBy": one.cancelled_by,
        "inside": one.parent.id if one.parent is not None else "",
    }
    known = {key: value for key, value in shown.items() if value not in (None, "")}
    return cast("ExecutionFacts", {**known, **_amounts(one)})


def _amounts(one: Execution) -> Amounts:
    if one.written is None:
        return {}
    return {"stdoutBytes": one.written.bytes["stdout"], "stderrBytes": one.written.bytes["stderr"]}


def _recorded(row: dict[str, Any]) -> ExecutionFacts:
    seconds = row["duration"] / 1_000_000
    shown = {
        "execution": row["call"],
        "command": row["command"],
        "state": _state(row),
        "room": row["room"],
        "caller": row["caller"],
        "startedAt": iso(row["at"] / 1_000_000 - seconds),
        "seconds": round(seconds, 3),
        "code": row["code"],
    }
    return cast("ExecutionFacts", {key: value for key, value in shown.items() if value != ""})


def _state(row: dict[str, Any]) -> State:
    """A start whose call is not live any more ran, but its end could not be stored yet."""
    if row["code"] in ("cancelled", "withdrawn"):
        return "cancelled"
    if row["code"] == "timed_out":
        return "timed_out"
    return "completed" if row["status"] == "done" else "failed"


def _page(view: Stream, text: str, offset: int, length: int, *, running: bool) -> Piece:
    end = min(offset + length, max(offset, len(text)))
    return {
        "stream": view,
        "text": text[offset:end],
        "offset": offset,
        "total": len(text),
        "next": end if running or end < len(text) else None,
        "running": running,
    }
