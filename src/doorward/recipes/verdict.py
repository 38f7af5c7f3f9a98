"""What a policy decides about one call, in the three ways that matter to whoever asked for it."""

from __future__ import annotations

from typing import Literal

import msgspec

from doorward.command import Command
from doorward.model import Kind, Ruling
from doorward.recipes.policy import Policy, terms

Decision = Literal["allowed", "approval", "refused"]


class Verdict(msgspec.Struct, frozen=True):
    """A decision, the rule that made it and, of a refusal, the sentence that gives the reason."""

    decision: Decision
    rule: str
    reason: str = ""


def verdict(policy: Policy, command: Command, kind: Kind, ruling: Ruling) -> Verdict:
    """A ruling of this policy with the approval that it demands beside it."""
    if not ruling.allowed:
        return Verdict("refused", ruling.rule, ruling.reason)
    if terms(policy, command, kind) is not None:
        return Verdict("approval", policy.asking(command))
    return Verdict("allowed", ruling.rule)
