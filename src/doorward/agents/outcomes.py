"""Describe the outcome of a call for a model."""

from __future__ import annotations

from doorward.agents.data import marked
from doorward.model import Outcome


def told(outcome: Outcome) -> str:
    """Return the status in Doorward's words, followed by the output between data marks."""
    if outcome.status == "parked":
        return f"{outcome.message} You get the result when a person has decided. Do not make this call again."
    state = f"{outcome.command}: {outcome.status}" + (f" ({outcome.code})" if outcome.status != "done" else "")
    hint = f"\n{outcome.hint}" if outcome.hint and outcome.hint not in outcome.text else ""
    return f"{state}.\n{marked(outcome.text + hint)}"
