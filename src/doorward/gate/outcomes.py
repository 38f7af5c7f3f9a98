"""Outcomes: every way a request can end, in the one shape that doors translate."""

from __future__ import annotations

from typing import Any

from doorward.core.clock import to_iso
from doorward.core.command import to_builtins
from doorward.core.errors import DoorwardError, Withdrawn
from doorward.core.escape_invisible import to_storable
from doorward.core.model import Admitted, Call, Outcome, Request
from doorward.gate import result_text
from doorward.gate.approval import Approval
from doorward.gate.executions.execution import Execution


def done(admitted: Admitted, result: Any, text: str, most: int, *, cached: bool) -> Outcome:
    """`text` is the result for models, truncated when it is longer than `most`."""
    call = admitted.call
    return Outcome(
        status="done",
        code="cached" if cached else "ok",
        message="",
        call=call.id,
        command=call.command.name,
        result=result,
        text=text if len(text) <= most else result_text.truncate(text, most, call.id),
        effect="none" if call.command.reads_only else "done",
        rule=admitted.ruling.rule,
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
        result=to_builtins(error.result),
        text=text if len(text) <= most else result_text.truncate(text, most, call.id),
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
        command=call.command.name if call else to_storable(request.command[:200]),
        text=result_text.render_failure(error),
        retry=error.retry,
        effect=error.effect,
        hint=error.hint,
        rule=error.rule,
        retry_after=error.retry_after,
    )


def waiting(approval: Approval) -> str:
    return f"{approval.command} is waiting for approval."


def _describe_seconds(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:g} s"


def parked(call: str, approval: Approval, rule: str = "") -> Outcome:
    """Also for a caller that returns with its ticket before anybody decided; `call` and `rule` are empty then."""
    message = waiting(approval)
    return Outcome(
        status="parked",
        code="approval_needed",
        message=message,
        call=call,
        command=approval.command,
        text=f"{message} Ticket: {approval.id}.",
        retry="later",
        hint=f"It expires after {_describe_seconds(approval.expires_at - approval.created_at)}. "
        "When it is approved, run the call again with this ticket.",
        rule=rule,
        ticket=approval.id,
        result={
            "ticket": approval.id,
            "shown": approval.call_text,
            "caller": approval.caller,
            "kind": approval.kind,
            "expiresAt": to_iso(approval.expires_at),
        },
    )


def dry_run(call: Call, shown: dict[str, Any]) -> Outcome:
    return Outcome(
        status="done",
        code="dry_run",
        message="Nothing was changed.",
        call=call.id,
        command=call.command.name,
        result=shown,
        text=result_text.render_result(shown),
        rule=shown["rule"],
        dry_run=True,
    )


def withdrawn(execution: Execution) -> Withdrawn:
    """The refusal of a queued call that somebody else cancelled."""
    name, by = execution.call.command.name, execution.cancelled_by
    return Withdrawn(f"{name} was cancelled by {by} before it began. Nothing ran.")
