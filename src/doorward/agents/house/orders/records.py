"""Orders about records."""

from __future__ import annotations

from doorward.agents.house.orders.phrases import OrderText
from doorward.agents.house.plan import Reading, Reply
from doorward.agents.house.request_context import RequestContext


def read(context: RequestContext, text: OrderText) -> Reading | Reply | None:
    return None
