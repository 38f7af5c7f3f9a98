"""Orders that change something: files, records, messages, programs and undo."""

from __future__ import annotations

from doorward.agents.house.plan import Reading, Reply
from doorward.agents.house.request_context import RequestContext


def read(context: RequestContext) -> Reading | Reply | None:
    """Return the reading of an order; a reply if it must not be done; None if it is no order that is understood."""
    return None


def example_for(context: RequestContext) -> str:
    """Return how to order plainly what the request speaks of; empty if nothing fits."""
    return ""
