"""Outcomes: every way a request ends, in the one shape that doors translate from."""

from __future__ import annotations

from typing import Any

from doorward.approvals.approvals import Approval
from doorward.clock import iso
from doorward.command import as_builtins
from doorward.errors import DoorwardError, Withdrawn
from doorward.executions.execution import Execution
from doorward.gate import present
from doorward.model import KEEPER, Call, Caller, Outcome, Permit, Request
from doorward.visible import storable


def done(permit: Permit, result: Any, text: str, most: int, *, cached: bool) -> Outcome:
    """`text` is the result as a model reads it, cut when it is longer than `most`."""
    call = permit.call
    return Outcome(
        status="done",
        code="cached" if cached else "ok",
        message="",
        call=call.id,
        command=call.command.name,
        result=result,
        text=text if len(text) <= most else present.cut(text, most, call.id),
        effect="none" if call.command.reads_only else "done",
        rule=permit.ruling.rule,
        cached=cached,
        truncated=len(text) if len(text) > most else 0,
    )


def failed(call: Call, error: DoorwardError, text: str, most: int) -> Outcome:
    return Outcome(
        status="failed",
        code=error.code,
        message=error.message,
        call=call.id,
        command=call.command.name,
        result=as_builtins(error.result),
        text=text if len(text) <= most else present.cut(text, most, call.id),
        retry=error.retry,
        effect="none" if call.command.reads_only else error.effect,
        hint=error.hint,
        rule=error.rule,
        retry_after=error.retry_after,
        truncated=len(text) if len(text) > most else 0,
    )


def refused(error: DoorwardError, call: Call | None, request: Request) -> Outcome:
    return Outcome(
        status="refused",
        code=error.code,
        message=error.message,
        call=call.id if call else "",
        command=call.command.name if call else storable(request.command[:200]),
        text=present.failure(error),
        retry=error.retry,
        effect=error.effect,
        hint=error.hint,
        rule=error.rule,
        retry_after=error.retry_after,
    )


def waiting(approval: Approval) -> str:
    return f"{approval.command} waits for a person's approval."


def whose(approval: Approval, caller: Caller) -> str:
    """What somebody can do with a ticket that was not given to them: the keeper takes up what it left off itself."""
    theirs = approval.caller == KEEPER and approval.behalf == caller.id
    return "It is the keeper's: ask agent/ask (doorward_agent) with its session and this ticket." if theirs else ""


def parked(call: str, approval: Approval, rule: str = "") -> Outcome:
    """Also for whoever comes back while nobody has decided; then `call` and `rule` are empty: nothing was asked."""
    message = waiting(approval)
    return Outcome(
        status="parked",
        code="approval_needed",
        message=message,
        call=call,
        command=approval.command,
        text=f"{message} Ticket: {approval.id}.",
        retry="later",
        hint=f"People can say yes for {approval.expires_at - approval.created_at:g} s; once they did, ask again with "
        "the ticket.",
        rule=rule,
        ticket=approval.id,
        result={
            "ticket": approval.id,
            "shown": approval.shown,
            "caller": approval.caller,
            "kind": approval.kind,
            "expiresAt": iso(approval.expires_at),
        },
    )


def tried_out(call: Call, shown: dict[str, Any]) -> Outcome:
    return Outcome(
        status="done",
        code="dry_run",
        message="Nothing was executed.",
        call=call.id,
        command=call.command.name,
        result=shown,
        text=present.as_text(shown),
        rule=shown["rule"],
        dry_run=True,
    )


def withdrawn(execution: Execution) -> Withdrawn:
    """What whoever waited for a call is told that somebody else stopped."""
    name, by = execution.call.command.name, execution.cancelled_by
    return Withdrawn(f"{name} was cancelled by {by} before it began; nothing ran.")
