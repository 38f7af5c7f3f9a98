"""Commands execution/*: list calls, show their state and output, and cancel them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

import msgspec
from msgspec import Meta

from doorward.commands.context import Context
from doorward.core import redact
from doorward.core.argtext import summarize_params
from doorward.core.classification import Access, Effects, Role, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import Conflict, NotFound
from doorward.gate.executions.execution import Execution, ExecutionState
from doorward.store import executions as sql
from doorward.store import long_results

family = Family("execution", category="history")

Id = Annotated[str, Meta(description="The execution's id, from a result or execution/list", max_length=64)]
Stream = Literal["result", "output", "stdout", "stderr"]
_LONGEST_PARAM = 20_000
"""Parameters of a running execution that are longer, in characters, are shown as a hash."""
_LONGEST_STOP = 5.0
"""Seconds to wait for a cancelled execution to end before the answer says that it has not ended yet."""


class OutputSizes(TypedDict, total=False):
    stdoutBytes: int
    stderrBytes: int


class ExecutionFacts(OutputSizes):
    """The state of an execution. Empty and unknown fields are omitted."""

    execution: str
    command: str
    summary: NotRequired[Annotated[str, Meta(description="Its parameters in short, without secrets")]]
    state: ExecutionState
    caller: str
    startedAt: str
    seconds: Annotated[float, Meta(description="Its duration, or how long it has run so far")]
    room: NotRequired[str]
    fraction: NotRequired[Annotated[float, Meta(description="Progress from 0 to 1")]]
    message: NotRequired[str]
    cancelledBy: NotRequired[str]
    inside: NotRequired[Annotated[str, Meta(description="The execution that contains this one")]]
    code: NotRequired[Annotated[str, Meta(description="The outcome code")]]
    params: NotRequired[
        Annotated[dict[str, Any], Meta(description="While it runs, its parameters, with secrets redacted")]
    ]


class ExecutionPage(TypedDict):
    items: list[ExecutionFacts]
    next: NotRequired[Annotated[int | None, Meta(description="The `after` value of the next page; null on the last")]]


class OutputPage(TypedDict):
    stream: Stream
    text: str
    offset: int
    total: Annotated[int, Meta(description="The number of characters in total")]
    next: Annotated[int | None, Meta(description="The offset of the next page; null at the end")]
    running: bool


class CancelResult(TypedDict):
    execution: str
    command: str
    state: ExecutionState
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
        Example("my running executions", {"live": True}),
        Example("the next page", {"limit": 20, "after": 4_200}),
    ],
    related=["execution/status", "execution/cancel"],
    is_status_poll=True,
)
async def list_executions(
    ctx: Context,
    live: Annotated[bool, Meta(description="Only executions that are queued or running")] = False,
    limit: Annotated[int, Meta(description="Maximum number of ended executions", ge=1, le=200)] = 50,
    after: Annotated[int, Meta(description="Cursor from `next` of the previous page; 0 for the first", ge=0)] = 0,
    notable: Annotated[bool, Meta(description="Leave out read-only calls by people")] = False,
) -> ExecutionPage:
    """List your executions: first those queued or running, then those that ended, newest first.

    Your executions are your own calls and the calls of agents on your behalf. A person who owns or administers a room
    also sees the calls of agents and programs there.
    """
    caller = ctx.caller
    items: list[ExecutionFacts] = []
    if not after:
        mine = (one for one in ctx.services.executions if _may_see_live(ctx, one) and one.id != ctx.call.id)
        items = [
            _describe_live(one)
            for one in mine
            if not (live and one.has_ended) and not (notable and _is_read_by_person(one))
        ]
    if live:
        return {"items": items}
    rows, more = await sql.recent(
        ctx.store,
        caller.tenant,
        caller.id,
        caller.on_behalf_of,
        caller.rooms,
        _administered_rooms(ctx),
        before=after or ctx.store.head.seq + 1,
        limit=limit,
        notable=notable,
    )
    recorded = [_describe_recorded(row) for row in rows]
    stored = {one["execution"] for one in recorded}  # a live one may have ended and been stored in the meantime
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
    is_status_poll=True,
)
async def status(ctx: Context, execution: Id) -> ExecutionFacts:
    """Show the state of an execution: queued, running, completed, failed, timed_out or cancelled, and its duration.

    While it runs, its parameters are shown too. Afterwards they are in its records.
    """
    found = ctx.services.executions.get(execution)
    if found is not None and not _may_cancel(ctx, found):
        raise _not_found(execution)
    if found is not None and found.id in ctx.services.executions:
        call = found.call
        shown = redact.params(call.params, call.command.secret, call.known_secrets, largest=_LONGEST_PARAM)
        return {**_describe_live(found), "params": shown}
    row = await sql.find(ctx.store, ctx.caller.tenant, execution)
    if row is None or not _may_see(ctx, row["caller"], row["kind"], row["behalf"], row["room"]):
        raise _not_found(execution)
    return {**_describe_recorded(row), **(_output_sizes(found) if found is not None else OutputSizes())}


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
        Example("continue where the result was cut", {"execution": "01k9x2m4q7ab3cde", "offset": 30_000}),
        Example("read the error output", {"execution": "01k9x2m4q7ab3cde", "stream": "stderr"}),
    ],
    related=["execution/status"],
    is_status_poll=True,
)
async def output(
    ctx: Context,
    execution: Id,
    stream: Annotated[
        Stream | None,
        Meta(
            description="result, output (both streams in order), stdout or stderr; if omitted, the stored result, "
            "or else output"
        ),
    ] = None,
    offset: Annotated[int, Meta(description="The first character to read", ge=0)] = 0,
    length: Annotated[int, Meta(description="Maximum number of characters", ge=1, le=25_000)] = 20_000,
) -> OutputPage:
    """Read the output of an execution so far, or the rest of a result that was too long to show.

    You can read your own executions. A person can also read those of agents and programs in a room they own or
    administer. While `running` is true, more output may follow from `next` on. Program output is kept for a short time
    after the end, a long result for hours.
    """
    found = ctx.services.executions.get(execution)
    if found is not None and not _may_see_live(ctx, found):
        raise _not_found(execution)
    if stream in (None, "result") and (found is None or found.has_ended):
        kept = await long_results.find(ctx.store, ctx.caller.tenant, execution)
        if kept is not None and _may_see(ctx, kept["caller"], kept["kind"], kept["behalf"], kept["room"]):
            return _make_page("result", kept["body"], offset, length, running=False)
    if found is not None and stream != "result":
        text = found.output.text(stream or "output") if found.output is not None else ""
        return _make_page(stream or "output", text, offset, length, running=not found.has_ended)
    if found is not None and not found.has_ended:
        raise Conflict(f"Execution {execution} has no result yet: it is {found.state}.", hint="Read its output.")
    raise NotFound(
        f"No stored result for an execution {execution!r} of yours. "
        f"Long results are kept for {ctx.services.settings.limits.result_hours:g} hours."
    )


@family.command(
    "cancel",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=15,
    undo=NoUndo("a cancelled execution cannot resume; run the command again"),
    examples=[Example("stop it", {"execution": "01k9x2m4q7ab3cde"})],
    related=["execution/list", "execution/status"],
)
async def cancel(ctx: Context, execution: Id) -> CancelResult:
    """Cancel a queued or running execution and stop every process it started.

    You may cancel your own executions. A person may also cancel those of agents that act for them, and those in a room
    they own or administer.
    """
    found = _find_cancellable(ctx, execution)
    by = ctx.caller.id
    if not found.cancel(by):
        raise Conflict(f"Execution {execution} can no longer be cancelled: it is {found.state}.")
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LONGEST_STOP):
            await found.wait_closed()
    return {
        "execution": found.id,
        "command": found.call.command.name,
        "state": found.state,
        "cancelledBy": found.cancelled_by,
        "ended": found.has_ended,
    }


@cancel.describes_effect
async def cancel_effect(ctx: Context, execution: str) -> dict[str, Any]:
    found = _find_cancellable(ctx, execution)
    return {"wouldStop": found.id, "command": found.call.command.name, "state": found.state}


def _find_cancellable(ctx: Context, id: str) -> Execution:
    """Find a live execution that this caller may cancel."""
    found = ctx.services.executions.get(id)
    if found is None or not _may_cancel(ctx, found):
        raise NotFound(f"No execution {id!r} of yours is queued or running.", hint="List them: execution/list")
    if found.id not in ctx.services.executions:
        raise Conflict(f"Execution {id} can no longer be cancelled: it is {found.state}.")
    if found.encloses(ctx.execution):
        raise Conflict(f"Execution {id} contains this call. A call cannot cancel itself.")
    return found


def _may_see(ctx: Context, who: str, kind: str, behalf: str, room: str | None) -> bool:
    """Whether this caller may see an execution of its tenant. A credential limited to rooms sees only those rooms.

    People who own or administer a room are responsible for what agents and programs do there.
    """
    if not ctx.caller.covers_room(room or ""):
        return False
    return ctx.caller.owns(who, behalf) or (kind != "human" and is_room_admin(ctx, room or ""))


def _is_read_by_person(one: Execution) -> bool:
    """Whether a person called it and it only reads, or only marks messages as read.

    A page that lists executions would otherwise mostly list its own calls.
    """
    command = one.call.command
    return one.call.caller.kind == "human" and (command.reads_only or command.name == "room/mark")


def _may_see_live(ctx: Context, one: Execution) -> bool:
    asker = one.call.caller
    return ctx.caller.tenant == asker.tenant and _may_see(ctx, asker.id, asker.kind, asker.on_behalf_of, one.call.room)


def is_room_admin(ctx: Context, room: str) -> bool:
    """Whether the caller is a person who owns or administers a room."""
    found = ctx.services.rooms.get(ctx.caller.tenant, room) if room and ctx.caller.kind == "human" else None
    member = found.members.get(ctx.caller.id) if found is not None else None
    return member is not None and member.role in (Role.OWNER, Role.ADMIN)


def _administered_rooms(ctx: Context) -> list[str]:
    return [room.id for room in ctx.services.rooms.of_tenant(ctx.caller.tenant) if is_room_admin(ctx, room.id)]


def _may_cancel(ctx: Context, one: Execution) -> bool:
    """Agents may cancel only their own executions, not those of other agents of the same person."""
    caller, asker, room = ctx.caller, one.call.caller, one.call.room
    if caller.tenant != asker.tenant or not caller.covers_room(room):
        return False
    if (caller.id, caller.kind, caller.on_behalf_of) == (asker.id, asker.kind, asker.on_behalf_of):
        return True
    return caller.kind == "human" and (caller.id == asker.on_behalf_of or is_room_admin(ctx, room))


def _not_found(id: str) -> NotFound:
    return NotFound(f"There is no execution {id!r} of yours.", hint="List yours: execution/list")


def _describe_live(one: Execution) -> ExecutionFacts:
    call = one.call
    shown = {
        "execution": one.id,
        "command": call.command.name,
        "summary": summarize_params(redact.params(call.params, call.command.secret, call.known_secrets)),
        "state": one.state,
        "room": call.room,
        "caller": call.caller.id,
        "startedAt": to_iso(one.started_at),
        "seconds": round(one.seconds, 3),
        "fraction": one.fraction,
        "message": one.message,
        "cancelledBy": one.cancelled_by,
        "inside": one.parent.id if one.parent is not None else "",
    }
    known = {key: value for key, value in shown.items() if value not in (None, "")}
    return cast("ExecutionFacts", {**known, **_output_sizes(one)})


def _output_sizes(one: Execution) -> OutputSizes:
    if one.output is None:
        return {}
    return {"stdoutBytes": one.output.bytes["stdout"], "stderrBytes": one.output.bytes["stderr"]}


def _describe_recorded(row: dict[str, Any]) -> ExecutionFacts:
    seconds = row["duration"] / 1_000_000
    shown = {
        "execution": row["call"],
        "command": row["command"],
        "summary": summarize_params(msgspec.json.decode(row["params"] or "{}", type=dict[str, Any])),
        "state": _recorded_state(row),
        "room": row["room"],
        "caller": row["caller"],
        "startedAt": to_iso(row["at"] / 1_000_000 - seconds),
        "seconds": round(seconds, 3),
        "code": row["code"],
    }
    return cast("ExecutionFacts", {key: value for key, value in shown.items() if value != ""})


def _recorded_state(row: dict[str, Any]) -> ExecutionState:
    """The state of a stored call. A recorded start that is no longer live did run, but its end is not stored yet."""
    if row["code"] in ("cancelled", "withdrawn"):
        return "cancelled"
    if row["code"] == "timed_out":
        return "timed_out"
    return "completed" if row["status"] == "done" else "failed"


def _make_page(view: Stream, text: str, offset: int, length: int, *, running: bool) -> OutputPage:
    end = min(offset + length, max(offset, len(text)))
    return {
        "stream": view,
        "text": text[offset:end],
        "offset": offset,
        "total": len(text),
        "next": end if running or end < len(text) else None,
        "running": running,
    }
