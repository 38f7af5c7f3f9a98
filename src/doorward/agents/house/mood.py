"""How a request is meant: as an order, a question, a report, a condition or a prohibition."""

from __future__ import annotations


def reason_not_to_act(text: str) -> str:
    """Return why nothing is done, such as a prohibition or a hypothesis; empty if the request may be acted on."""
    return ""


def is_order(text: str) -> bool:
    """Whether a text plainly orders a change: a clear verb at its start, nothing that holds it back."""
    return False
