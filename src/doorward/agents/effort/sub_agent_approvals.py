"""Approvals that requests of a sub-agent wait for: the wait for a decision, and why a call will not run."""

from __future__ import annotations

import contextlib

from doorward.commands.context import Services
from doorward.gate.approval import Approval
from doorward.gate.decision_watch import watch_decision


async def wait_for_decision(services: Services, tenant: str, ticket: str) -> Approval:
    """Wait until an approval is decided or has expired, and return it."""
    while True:
        with contextlib.suppress(TimeoutError):  # its state says whether it has expired
            async with watch_decision(services.approvals, services.events, services.clock, tenant, ticket) as decided:
                await decided
        approval = await services.approvals.find(tenant, ticket)
        if approval.state != "pending":
            return approval


async def describe_refusal(services: Services, approval: Approval) -> str:
    """Say why a call will not run: who denied it and why, or that nobody decided in time."""
    if approval.state == "used":
        return describe_interruption(approval.command)
    if approval.state == "expired":
        return f"{approval.command}: the approval is {approval.state_text}."
    given = await services.approvals.decisions(approval)
    who = ", ".join(one["decider"] for one in given if one["verdict"] == "deny") or "a person"
    return f"{approval.command}: denied by {who}" + (f": {approval.reason}" if approval.reason else ".")


def describe_interruption(command: str) -> str:
    return f"Doorward stopped while {command} ran. Check the servers before you send the request again."
