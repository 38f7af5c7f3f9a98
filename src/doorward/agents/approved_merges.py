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
from doorward.gate.approval import Approval
from doorward.gate.gate import Gate
from doorward.rooms.people import LOCAL, OWNER

log = logging.getLogger(__name__)

SUBMIT = "draft/submit"
_GRACE = 3.0
"""Seconds in which the agent's own client resumes the call, if it waits for the decision."""


@contextlib.asynccontextmanager
async def run_approved_merges(gate: Gate, services: Services, grace: float = _GRACE) -> AsyncIterator[None]:
    """Run approved calls of draft/submit until the context ends. Personas and the keeper resume their own calls."""
    tasks: set[asyncio.Task[None]] = set()

    def on_event(event: Event) -> None:
        if isinstance(event, ApprovalDecided) and event.state == "approved":
            task = asyncio.create_task(_merge(gate, services, event.tenant, event.approval, grace))
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


async def _merge(gate: Gate, services: Services, tenant: str, id: str, grace: float) -> None:
    try:
        approval = await services.approvals.find(tenant, id)
        resumed_by_themselves = {KEEPER, *(one.id for one in services.personas.all(tenant))}
        if approval.command != SUBMIT or approval.caller in resumed_by_themselves:
            return
        await asyncio.sleep(grace)
        approval = await services.approvals.find(tenant, id)
    except DoorwardError as error:
        log.warning("the approved draft of approval %s was not merged: %s", id, error.message)
        return
    if approval.state != "approved":
        return
    found = _find_credential(services, approval)
    if found is None:
        log.warning("the approved draft of %s was not merged: its access ended, or is not known", approval.caller)
        return
    credential, session = found
    outcome = await gate.handle(
        Request(SUBMIT, credential, approval.door, room=approval.room, ticket=id, session=session)
    )
    if outcome.status != "done":
        log.warning("the approved draft of %s was not merged: %s", approval.caller, outcome.message)


def _find_credential(services: Services, approval: Approval) -> tuple[Credential, str] | None:
    """The credential and the session with which the agent submitted its draft; the gate checks the credential again.

    After a restart only that of an agent of this machine's owner is known: it needs no token.
    """
    parked = services.approvals.grants.find_parked(approval.id)
    if parked is not None:
        return parked.credential, parked.session
    has_token = any(one.name == approval.caller for one in services.tokens.of_tenant(approval.tenant))
    if has_token or approval.tenant != LOCAL or approval.behalf != OWNER:
        return None
    kind: Literal["ai", "service"] = "service" if approval.kind == "service" else "ai"
    return Credential(owner=True, speak_as=approval.caller, kind=kind), ""
