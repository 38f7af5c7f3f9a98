"""Requests that name a command, or match the examples of one."""

from __future__ import annotations

from collections.abc import Iterable

from doorward.agents.house.plan import Reading
from doorward.agents.house.request_context import RequestContext


def read(context: RequestContext) -> Iterable[Reading]:
    return ()


def read_taught(context: RequestContext) -> Reading | None:
    """Return the reading of a phrase that the catalogue or the recipe teaches; None if none matches exactly."""
    return None
