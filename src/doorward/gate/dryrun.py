"""What would happen: the decision, its rule, the cost, the approval needed, and the effect where it can be known."""

from __future__ import annotations

from typing import Any

from doorward.approvals.approvals import DECIDERS
from doorward.command import Command, Undo
from doorward.errors import NotPermitted
from doorward.gate.approve import Approver
from doorward.gate.authorize import Authorizer
from doorward.gate.deadlines import Deadlines
from doorward.gate.execute import ContextFor, preview
from doorward.model import ApprovalTerms, Call, Caller, Permit, Ruling
from doorward.recipes.policy import Limits


class DryRun:
    def __init__(
        self, authorizer: Authorizer, approver: Approver, context_for: ContextFor, deadlines: Deadlines
    ) -> None:
        self._authorizer = authorizer
        self._approver = approver
        self._context_for = context_for
        self._deadlines = deadlines

    def ruling(self, call: Call) -> Ruling:
        try:
            return self._authorizer.authorize(call)[0]
        except NotPermitted as denial:
            return Ruling(False, denial.rule, denial.message)

    def explain(self, caller: Caller, room: str, command: Command) -> dict[str, Any]:
        """The decision about a command whatever its parameters."""
        ruling = self._authorizer.ruled(caller, room, command)
        policy = self._authorizer.policy(caller, room) if room else None
        terms = self._authorizer.terms(caller, policy, command)
        shown = _decision(command, ruling, terms)
        if policy is not None:
            shown["limits"] = _limits(policy.limits)
        return shown

    async def show(self, permit: Permit) -> dict[str, Any]:
        """The decision about one call and, when the caller may see it, what the call would change."""
        call, ruling = permit.call, permit.ruling
        policy = self._authorizer.policy(call.caller, call.room) if call.room else None
        shown = _decision(call.command, ruling, self._approver.needed(call, policy))
        if ruling.allowed:
            shown["effect"] = await self._effect(permit)
        return shown

    async def _effect(self, permit: Permit) -> Any:
        command, call = permit.call.command, permit.call
        if command.reads_only and command.effect is None:
            return "It only reads; nothing would change."
        if command.effect is None:
            return "What it would change cannot be known without running it."
        if command.facts.reveals:
            allowed = self._authorizer.rule(call.caller, call.room, self._authorizer.command(command.facts.reveals))
            if not allowed.allowed:
                return f"Not shown: it would reveal what only {command.facts.reveals} may show, and {allowed.reason}"
        ending = await preview(permit, self._context_for, self._deadlines)
        if ending.error is not None:
            return {"wouldFail": ending.error.message, "code": ending.error.code}
        return ending.result


def _decision(command: Command, ruling: Ruling, terms: ApprovalTerms | None) -> dict[str, Any]:
    facts = command.facts
    return {
        "command": command.name,
        "decision": "allowed" if ruling.allowed else "refused",
        "rule": ruling.rule,
        "reason": ruling.reason,
        "tier": facts.tier,
        "effects": facts.effects.names,
        "safety": facts.safety,
        "cost": facts.cost,
        "approval": _asked(terms) if terms is not None and ruling.allowed else None,
        "undo": "yes" if isinstance(facts.undo, Undo) else f"no: {facts.undo.why}",
    }


def _asked(terms: ApprovalTerms) -> dict[str, Any]:
    return {
        "timeoutSeconds": terms.timeout_seconds,
        "approvers": list(terms.approvers or DECIDERS),
        "quorum": terms.quorum,
    }


def _limits(limits: Limits) -> dict[str, Any]:
    """Under the names they have in a recipe; what a recipe leaves open is left out."""
    named = {
        "maxCommandsPerResponse": limits.per_response,
        "maxCommandsPerMinute": limits.per_minute,
        "maxActionsPerSecond": limits.per_second,
        "timeoutSeconds": limits.timeout,
    }
    return {name: value for name, value in named.items() if value is not None}
