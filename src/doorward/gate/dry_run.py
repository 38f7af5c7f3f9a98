"""Dry runs: the decision, its rule, the cost, the approval needed, and the effect where it can be known."""

from __future__ import annotations

from typing import Any

from doorward.core.clock import Clock
from doorward.core.command import Command, Undo
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import NotPermitted
from doorward.core.model import Admitted, ApprovalTerms, Call, Caller, Credential, Outcome, Request, Ruling
from doorward.gate import outcomes
from doorward.gate.approvals import DEFAULT_APPROVERS
from doorward.gate.approver import Approver
from doorward.gate.authorizer import Authorizer
from doorward.gate.deadlines import timeout_for
from doorward.gate.energy import Energy
from doorward.gate.executor import Executor
from doorward.gate.recipes.policy import PolicyLimits
from doorward.gate.recorder import Recorder
from doorward.gate.slots import Slots
from doorward.gate.throttle import Throttle

_NEEDS_APPROVAL = (
    "Not run on a copy, because the call needs approval. The people who decide see what it changes on a copy."
)

_TURNED_OFF = "Not run on a copy, because the setting approvals.foresee is off."


class DryRun:
    def __init__(
        self,
        authorizer: Authorizer,
        throttle: Throttle,
        approver: Approver,
        recorder: Recorder,
        executor: Executor,
        slots: Slots,
        energy: Energy,
        clock: Clock,
    ) -> None:
        self._authorizer = authorizer
        self._throttle = throttle
        self._approver = approver
        self._recorder = recorder
        self._executor = executor
        self._slots = slots
        self._energy = energy
        self._clock = clock

    async def answer(self, request: Request, call: Call) -> Outcome:
        """Decide and preview a call, which changes nothing. Recorded, since the preview may show data."""
        policy = self._authorizer.policy(call.caller, call.room) if call.room else None
        self._throttle.admit(call, policy)
        admitted = Admitted(call, self._ruling(call), timeout_for(call, policy))
        shown = await self._show(admitted, request.credential)
        await self._recorder.refused(
            request, call.caller, call, status="done", code="dry_run", note="", rule=shown["rule"]
        )
        return outcomes.dry_run(call, shown)

    def _ruling(self, call: Call) -> Ruling:
        try:
            return self._authorizer.authorize(call)[0]
        except NotPermitted as denial:
            return Ruling(False, denial.rule, denial.message)

    def explain(self, caller: Caller, room: str, command: Command) -> dict[str, Any]:
        """The decision about a command, whatever its parameters."""
        ruling = self._authorizer.explain_rule(caller, room, command)
        policy = self._authorizer.policy(caller, room) if room else None
        terms = self._authorizer.terms(caller, policy, command)
        shown = _decision(command, ruling, terms)
        if policy is not None:
            shown["limits"] = _limits(policy.limits)
        return shown

    async def _show(self, admitted: Admitted, credential: Credential) -> dict[str, Any]:
        """The decision about one call and, when the caller may see it, what the call would change."""
        call, ruling = admitted.call, admitted.ruling
        policy = self._authorizer.policy(call.caller, call.room) if call.room else None
        needed = await self._approver.required(call, policy, credential)
        shown = _decision(call.command, needed.note_on(ruling), needed.terms)
        if ruling.allowed:
            shown["effect"] = await self._effect(admitted, needs_approval=needed.terms is not None)
        return shown

    async def _effect(self, admitted: Admitted, *, needs_approval: bool) -> Any:
        command, call = admitted.call.command, admitted.call
        if command.reads_only and command.effect is None:
            return "Nothing: this command only reads."
        if command.effect is None:
            return "Unknown: this command cannot preview its effect."
        if command.facts.reveals:
            allowed = self._authorizer.rule(call.caller, call.room, self._authorizer.command(command.facts.reveals))
            if not allowed.allowed:
                return f"Hidden: the preview shows data that needs {command.facts.reveals}. {allowed.reason}"
        ending = await self._executor.preview(admitted)
        if ending.error is not None:
            return {"wouldFail": ending.error.message, "code": ending.error.code}
        if not command.runs_trial or ending.result["trial"]:
            return ending.result
        trial = None if needs_approval else await self._try(admitted)
        told = _NEEDS_APPROVAL if needs_approval else _TURNED_OFF
        return {**ending.result, "trial": trial.shown if trial is not None else told}

    async def _try(self, admitted: Admitted) -> EffectPreview | None:
        """Run the call on a copy. That takes a place and energy as a real run does, since it does the same work."""
        call = admitted.call
        with self._slots.place(call.session) as place:
            reservation, began = self._energy.reserve(call), self._clock.steady()
            try:
                return await self._approver.preview(admitted, place)
            finally:
                charge = self._energy.settle(call, reservation, self._clock.steady() - began)
                if charge is not None:
                    await charge.write()


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
        "approval": _approval(terms) if terms is not None and ruling.allowed else None,
        "undo": "yes" if isinstance(facts.undo, Undo) else f"no: {facts.undo.why}",
    }


def _approval(terms: ApprovalTerms) -> dict[str, Any]:
    return {
        "timeoutSeconds": terms.timeout_seconds,
        "approvers": list(terms.approvers or DEFAULT_APPROVERS),
        "quorum": terms.quorum,
    }


def _limits(limits: PolicyLimits) -> dict[str, Any]:
    """The limits under their names in a recipe, without those that are not set."""
    named = {
        "maxCommandsPerResponse": limits.per_response,
        "maxCommandsPerMinute": limits.per_minute,
        "maxActionsPerSecond": limits.per_second,
        "timeoutSeconds": limits.timeout,
    }
    return {name: value for name, value in named.items() if value is not None}
