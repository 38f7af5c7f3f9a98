"""Merges an approved draft when its agent does not resume the call itself, because its client is closed or waits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Literal

from doorward.commands.context import Services
from doorward.core.errors import DoorwardError
from doorward.core.events import ApprovalDecided, Event
from doorward.core.model import KEEPER, Credential, Request
from doorward.gate.gate import Gate
from doorward.rooms.people import LOCAL, OWNER

log = logging.getLogger(__name__)

SUBMIT = "draft/submit"
_GRACE = 3.0
"""Seconds in which the agent's own client resumes the call, if it waits for the decision."""


@contextlib.asynccontextmanager
async def run_approved_merges(gate: Gate, services: Services, grace: float = _GRACE) -> AsyncIterator[None]:
    """Run approved calls of draft/submit, by the agents of this machine's owner, until the context ends.

    Agents with tokens and personas resume their own calls.
    """
    tasks: set[asyncio.Task[None]] = set()

    def on_event(event: Event) -> None:
        if isinstance(event, ApprovalDecided) and event.state == "approved" and event.tenant == LOCAL:
            task = asyncio.create_task(_merge(gate, services, event.approval, grace))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    leave = services.events.subscribe(on_event, ApprovalDecided)
    try:
        yield
    finally:
        leave()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _merge(gate: Gate, services: Services, id: str, grace: float) -> None:
    try:
        approval = await services.approvals.find(LOCAL, id)
        resumed_by_themselves = {KEEPER, *(one.id for one in services.personas.all(LOCAL))}
        if approval.command != SUBMIT or approval.behalf != OWNER or approval.caller in resumed_by_themselves:
            return
        await asyncio.sleep(grace)
        if (await services.approvals.find(LOCAL, id)).state != "approved":
            return
    except DoorwardError as error:
        log.warning("the approved draft of approval %s was not merged: %s", id, error.message)
        return
    kind: Literal["ai", "service"] = "service" if approval.kind == "service" else "ai"
    credential = Credential(owner=True, speak_as=approval.caller, kind=kind)
    outcome = await gate.handle(Request(SUBMIT, credential, approval.door, room=approval.room, ticket=id))
    if outcome.status != "done":
        log.warning("the approved draft of %s was not merged: %s", approval.caller, outcome.message)
