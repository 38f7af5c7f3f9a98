"""Requests about topics."""

from __future__ import annotations

from collections.abc import Iterable

from doorward.agents.house.plan import Reading
from doorward.agents.house.request_context import RequestContext


def read(context: RequestContext) -> Iterable[Reading]:
    return ()
