"""Waits for people's decision about one approval."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from doorward.core.clock import Clock
from doorward.core.events import ApprovalDecided, ApprovalHeld, Bus, Event
from doorward.gate.approvals import Approvals

GRACE = 0.05
"""Seconds to wait after an approval expires: the expiry time is rounded."""


@contextlib.asynccontextmanager
async def watch_decision(
    approvals: Approvals, events: Bus, clock: Clock, tenant: str, ticket: str
) -> AsyncIterator[asyncio.Future[None]]:
    """A future that is done as soon as the approval is decided, in any way; a TimeoutError when it expires."""
    loop = asyncio.get_running_loop()
    decided: asyncio.Future[None] = loop.create_future()
    timers: list[asyncio.TimerHandle] = []

    def settle(state: str) -> None:
        if state != "pending" and not decided.done():
            decided.set_result(None)

    def expire() -> None:
        if not decided.done():
            decided.set_exception(TimeoutError())
            decided.exception()  # a question that was answered in time does not look at it

    def wait_until(expires_at: float) -> None:
        for timer in timers:
            timer.cancel()
        timers[:] = [loop.call_later(max(expires_at - clock.now(), 0.0) + GRACE, expire)]

    def heard(event: Event) -> None:
        if isinstance(event, ApprovalDecided) and event.approval == ticket:
            settle(event.state)
        elif isinstance(event, ApprovalHeld) and event.approval == ticket:
            wait_until(event.expires_at)

    leave = events.subscribe(heard, ApprovalDecided, ApprovalHeld)
    try:
        approval = await approvals.find(tenant, ticket)
        wait_until(approval.expires_at)
        settle("pending" if approval.state == "expired" else approval.state)
        yield decided
    finally:
        leave()
        for timer in timers:
            timer.cancel()
