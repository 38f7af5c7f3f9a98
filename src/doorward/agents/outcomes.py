"""An outcome as a model reads it."""

from __future__ import annotations

from doorward.agents import data
from doorward.model import Outcome


def told(outcome: Outcome) -> str:
    """How a call ended, in our words, and behind that what it gave, which is no instruction."""
    if outcome.status == "parked":
        return f"{outcome.message} You are told what came of it when a person has decided; do not ask for it again."
    state = f"{outcome.command}: {outcome.status}" + (f" ({outcome.code})" if outcome.status != "done" else "")
    hint = f"\n{outcome.hint}" if outcome.hint and outcome.hint not in outcome.text else ""
    return f"{state}.\n{data.marked(outcome.text + hint)}"
