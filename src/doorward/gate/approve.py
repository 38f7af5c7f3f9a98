"""Step 6: must a human say yes first. Without a ticket the call is parked; with one, it must be this very call."""

from __future__ import annotations

import os

from doorward.approvals.approvals import Approval, Approvals
from doorward.command import Foreseen
from doorward.errors import NotApproved
from doorward.gate.authorize import Authorizer
from doorward.model import ApprovalTerms, Call
from doorward.recipes.policy import Policy
from doorward.store.sqlite import Statement


class Parked(Exception):
    """The call waits for a human; carries the question, the statement that stores it, and the rule that asks."""

    def __init__(self, approval: Approval, store: Statement, rule: str) -> None:
        super().__init__(approval.id)
        self.approval = approval
        self.store = store
        self.rule = rule


class Approver:
    def __init__(self, approvals: Approvals, authorizer: Authorizer) -> None:
        self._approvals = approvals
        self._authorizer = authorizer

    def needed(self, call: Call, policy: Policy | None) -> ApprovalTerms | None:
        return self._authorizer.terms(call.caller, policy, call.command)

    def spend(self, call: Call, terms: ApprovalTerms | None, ticket: Approval) -> Statement:
        """The statement that uses the ticket's approval up, if it is about this very call and enough for it now."""
        if terms is not None and not self._approvals.satisfies(ticket, terms):
            raise NotApproved(
                "The recipe now asks for other people, or more of them, than decided about this.",
                hint="Ask again without the ticket.",
            )
        return self._approvals.spend(ticket, _binding(call), call.id)

    def park(self, call: Call, terms: ApprovalTerms, foreseen: Foreseen | None) -> Parked:
        """The question about this call, to be raised: it goes no further now."""
        rule = terms.rule or f"recipe: requireApproval {call.command.name}"
        return Parked(*self._approvals.prepare(call, _binding(call), terms, foreseen), rule)


def _binding(call: Call) -> str:
    """What an approval is good for: this call's digest in this very folder, not one put in its place."""
    try:
        folder = os.stat(call.workspace)
    except OSError as error:
        raise NotApproved(f"The working folder {call.workspace} is not there.") from error
    return f"{call.digest}:{folder.st_dev}:{folder.st_ino}"
