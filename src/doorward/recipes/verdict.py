"""The verdict of a policy on one call: allowed, needs approval, or refused."""

from __future__ import annotations

from typing import Literal

import msgspec

from doorward.command import Command
from doorward.model import Kind, Ruling
from doorward.recipes.policy import Policy, terms

Decision = Literal["allowed", "approval", "refused"]


class Verdict(msgspec.Struct, frozen=True):
    """A decision with its rule and, for a refusal, the reason as a sentence."""

    decision: Decision
    rule: str
    reason: str = ""


def verdict(policy: Policy, command: Command, kind: Kind, ruling: Ruling) -> Verdict:
    """Combine a ruling of this policy with its approval terms."""
    if not ruling.allowed:
        return Verdict("refused", ruling.rule, ruling.reason)
    if terms(policy, command, kind) is not None:
        return Verdict("approval", policy.asking(command))
    return Verdict("allowed", ruling.rule)
