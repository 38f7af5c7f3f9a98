"""Step 6: decide whether a person must approve the call first.

Without a ticket, a call that needs approval is parked. With a ticket, it must be exactly the call that was approved.
"""

from __future__ import annotations

import os

import msgspec

from doorward.config.settings import Settings
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import NotApproved
from doorward.core.model import KEEPER, Admitted, ApprovalTerms, Call, Caller, Credential, Request, Ruling
from doorward.gate.approval import Approval
from doorward.gate.approvals import Approvals
from doorward.gate.authorizer import Authorizer
from doorward.gate.executor import Executor
from doorward.gate.recipes.policy import OBSERVED_REFUSAL, Policy
from doorward.gate.recipes.replay import SESSION_RULE
from doorward.gate.slots import NestedPlace, Place
from doorward.store.sqlite import Statement


class Parked(Exception):
    """The call waits for approval: the approval, the statement that stores it, and the rule that requires it."""

    def __init__(self, approval: Approval, store: Statement, rule: str) -> None:
        super().__init__(approval.id)
        self.approval = approval
        self.store = store
        self.rule = rule


class SettledApproval(msgspec.Struct, frozen=True):
    """An approval that was granted for exactly this call and is about to be used."""

    id: str
    effect: bytes | None
    """The effect that people approved, when it was previewed."""
    use: Statement
    """Marks the approval as used. Stored together with the start of the call."""


class Requirement(msgspec.Struct, frozen=True):
    """The approval that a call needs, or None with the rule that exempts it; an empty rule if nothing asks for one."""

    terms: ApprovalTerms | None
    exemption: str = ""

    def note_on(self, ruling: Ruling) -> Ruling:
        """The ruling to record: with the exemption as its rule, if the call needs one."""
        if self.terms is not None or not self.exemption or ruling.rule.startswith(OBSERVED_REFUSAL):
            return ruling
        return msgspec.structs.replace(ruling, rule=self.exemption)

    def note_in(self, admitted: Admitted) -> Admitted:
        """The admitted call with the ruling to record."""
        return msgspec.structs.replace(admitted, ruling=self.note_on(admitted.ruling))


class Approver:
    def __init__(self, approvals: Approvals, authorizer: Authorizer, executor: Executor, settings: Settings) -> None:
        self._approvals = approvals
        self._authorizer = authorizer
        self._executor = executor
        self._settings = settings.approvals

    async def required(self, call: Call, policy: Policy | None, credential: Credential) -> Requirement:
        """Whether the call needs approval, and otherwise the rule that lets it run without."""
        terms = self._authorizer.terms(call.caller, policy, call.command, call.params)
        if terms is None:
            return Requirement(None, policy.exemption(call.command, call.params) if policy is not None else "")
        grant = await self._approvals.find_grant(call, credential, terms)
        if grant is None:
            return Requirement(terms)
        built_in = self._authorizer.terms(call.caller, policy, call.command, call.params, answered=True)
        return Requirement(built_in, f"{SESSION_RULE}{grant.approval}: {grant.decider} approved it for this session")

    async def find(self, caller: Caller, request: Request) -> Approval:
        """Find the approval that a request's ticket names. Only the caller who asked for it may use it."""
        approval = await self._approvals.find(caller.tenant, request.ticket)
        if (approval.caller, approval.kind, approval.behalf) != (caller.id, caller.kind, caller.on_behalf_of):
            raise NotApproved("This ticket belongs to another caller.", hint=_owner_hint(approval, caller))
        return approval

    async def park(
        self, admitted: Admitted, place: Place | NestedPlace, terms: ApprovalTerms, credential: Credential
    ) -> Parked:
        """Make the approval request, with a preview of the call's effect where the command can give one."""
        preview = await self.preview(admitted, place)
        call = admitted.call
        rule = terms.rule or f"recipe: requireApproval {call.command.name}"
        parked = Parked(*self._approvals.prepare(call, _binding(call), terms, preview), rule)
        self._approvals.grants.note_parked(parked.approval.id, call, credential)
        return parked

    async def preview(self, admitted: Admitted, place: Place | NestedPlace) -> EffectPreview | None:
        """Preview the effect of a call as its approvers see it; None where the settings or the command allow none."""
        if not self._settings.foresee:
            return None
        if not place.try_take():
            await place.wait()
        seconds = max(self._settings.foresee_seconds, admitted.call.command.preview_seconds)
        limited = msgspec.structs.replace(admitted, timeout=min(admitted.timeout, seconds))
        return await self._executor.preview_for_approval(limited)

    async def settle(self, call: Call, terms: ApprovalTerms | None, ticket: Approval) -> SettledApproval:
        """Accept the ticket when it was approved for exactly this call, by enough people for today's terms."""
        effect = await self._approvals.effect(ticket)
        if terms is not None and not self._approvals.satisfies(ticket, terms):
            raise NotApproved(
                "The recipe now requires other approvers, or more of them, than approved this.",
                hint="Run the call again without the ticket.",
            )
        await self._approvals.check_quorum(ticket)
        return SettledApproval(ticket.id, effect, self._approvals.use(ticket, _binding(call), call.id))


def _binding(call: Call) -> str:
    """What an approval is bound to: the call's digest, in this very folder and not in another one at the same path."""
    try:
        folder = os.stat(call.workspace)
    except OSError as error:
        raise NotApproved(f"The workspace {call.workspace} does not exist.") from error
    return f"{call.digest}:{folder.st_dev}:{folder.st_ino}"


def _owner_hint(approval: Approval, caller: Caller) -> str:
    """How to use a ticket of the keeper's: it resumes its own work."""
    if approval.caller == KEEPER and approval.behalf == caller.id:
        return "It belongs to the keeper: call agent/ask (doorward_agent) with its session and this ticket."
    return ""
