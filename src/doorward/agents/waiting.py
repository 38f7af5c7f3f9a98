"""Pending calls: calls of personas that wait for approval, with one timer for the next expiry."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from doorward.agents.surroundings import Surroundings
from doorward.approvals.approvals import Approval
from doorward.errors import DoorwardError, NotFound
from doorward.events import ApprovalDecided
from doorward.store.open_calls import OpenCall

log = logging.getLogger(__name__)

Over = Callable[[OpenCall], None]
"""Called when a call stops waiting: it was decided, or its approval expired."""
_LATE = 0.05
"""Seconds added to an expiry time, so that the approval has expired when it is checked."""
_AGAIN = 30.0
"""Seconds before a failed check is repeated."""


class Waiting:
    def __init__(self, around: Surroundings, over: Over) -> None:
        self._around = around
        self._over = over
        self._calls: dict[str, OpenCall] = {}
        self._expiry: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looking: set[asyncio.Task[None]] = set()

    async def add(self, call: OpenCall) -> None:
        """Wait for the decision about a call; it may have been made already."""
        self._calls[call.approval] = call
        await self._look_at(call)
        self._set_timer()

    def all(self) -> list[OpenCall]:
        return list(self._calls.values())

    def of(self, persona: str, room: str) -> list[OpenCall]:
        return [one for one in self._calls.values() if (one.persona, one.room) == (persona, room)]

    def others(self, turn: str) -> bool:
        """Whether other calls of a turn wait."""
        return any(one.turn == turn for one in self._calls.values())

    def drop(self, call: OpenCall) -> None:
        self._calls.pop(call.approval, None)
        self._expiry.pop(call.approval, None)

    def heard(self, event: ApprovalDecided) -> None:
        call = self._calls.get(event.approval)
        if call is not None and event.state != "pending":
            self._let_go(call)

    async def look(self) -> None:
        """Check all calls for decisions and expiry."""
        for call in list(self._calls.values()):
            await self._look_at(call)
        self._set_timer()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)

    async def _look_at(self, call: OpenCall) -> None:
        try:
            approval = await approval_of(self._around, call)
        except DoorwardError as error:
            log.warning("the approval of the call %s cannot be checked now: %s", call.card, error)
            self._expiry[call.approval] = self._around.services.clock.now() + _AGAIN
            return
        if approval is None or approval.state != "pending":
            self._let_go(call)
        elif self._calls.get(call.approval) is call:  # not decided during the check
            self._expiry[call.approval] = approval.expires_at

    def _let_go(self, call: OpenCall) -> None:
        if self._calls.get(call.approval) is call:
            self.drop(call)
            self._over(call)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._expiry:
            wait = max(0.0, min(self._expiry.values()) - self._around.services.clock.now()) + _LATE
            self._timer = asyncio.get_running_loop().call_later(wait, self._look_soon)

    def _look_soon(self) -> None:
        task = asyncio.get_running_loop().create_task(self.look())
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)


async def approval_of(around: Surroundings, call: OpenCall) -> Approval | None:
    try:
        return await around.services.approvals.find(call.tenant, call.approval)
    except NotFound:
        return None
