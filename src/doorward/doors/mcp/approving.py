"""Approval through the client: the person who sits there is shown exactly what would run, and asked.

The door decides nothing here. It asks only when it holds the credential of a person, it carries that person's yes or no
to the gate as that person, and the gate judges whether this person may decide. An agent's own credential is never used.
The same people can decide elsewhere meanwhile, such as in a terminal: whoever is first counts, and the question goes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import msgspec

from doorward.backends.context import Services
from doorward.doors.mcp import answers
from doorward.doors.mcp.ask import Ask, Overtaken
from doorward.doors.mcp.results import RESUME
from doorward.doors.mcp.state import States
from doorward.doors.mcp.versions import Era
from doorward.errors import NotApproved, NotAuthenticated, Overloaded
from doorward.events import ApprovalDecided
from doorward.gate import outcomes
from doorward.gate.gate import Gate
from doorward.home import Home
from doorward.model import Caller, Outcome, Request
from doorward.wire.frames import WireError
from doorward.wire.shapes import InputRequired

_KEY = "approval"
_ACCEPT, _DECLINE = "accept", "decline"
_MOST_SHOWN = 50_000
"""Characters of a call that a client is asked about. A longer one would have to be cut, and nobody shall approve what
they were not shown: it is decided elsewhere."""
_GRACE = 0.05
"""Seconds after an approval's end at which its question is given up; the time it was told with is rounded."""


class Approving:
    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._clock = services.clock
        self._events = services.events
        self._approvals = services.approvals
        self._on = services.settings.mcp.elicitation
        self._use_within = services.settings.approvals.use_within
        self._states = States(Home(services.home).key(), services.clock)

    async def asked(self, ask: Ask, request: Request, parked: Outcome) -> Request | Outcome | bytes | None:
        """Ask the person about a call that is parked, if there is one to ask.

        Gives the request to go on with, an outcome or a result to answer with, or None: it stays parked.
        """
        if not self._may_ask(ask, parked):
            return None
        question, until = _question(parked), datetime.fromisoformat(parked.result["expiresAt"]).timestamp()
        if ask.era is Era.STATELESS:
            # It outlives the question, so that a late client hears from the gate what became of it.
            state = self._states.seal(parked.ticket, ask.caller, _what(request), until + self._use_within)
            return answers.input_required(
                InputRequired(
                    input_requests={_KEY: {"method": "elicitation/create", "params": question}}, request_state=state
                )
            )
        patience = max(until - self._clock.now(), 0.0) + _GRACE
        try:
            async with self._decided_elsewhere(ask.caller.tenant, parked.ticket) as needless:
                answer = await ask.request("elicitation/create", question, patience, needless)
        except (TimeoutError, Overtaken):
            return msgspec.structs.replace(request, ticket=parked.ticket)
        except (WireError, Overloaded):
            return None
        return await self._carried(ask, request, parked.ticket, answer.get("action"), parked)

    async def decided(self, ask: Ask, request: Request) -> Request | Outcome:
        """What the person said, as a stateless client brings it with its second request.

        Without a yes or no the ticket itself says how things stand: somebody may have decided elsewhere. While nobody
        has, the call goes on waiting.
        """
        ticket = self._states.open(ask.state, ask.caller, _what(request))
        answer = ask.responses.get(_KEY)
        action = answer.get("action") if isinstance(answer, dict) else None
        carried = await self._carried(ask, request, ticket, action, None)
        if carried is None:
            approval = await self._approvals.find(ask.caller.tenant, ticket)
            if approval.state == "pending":
                return outcomes.parked("", approval)
        return carried or msgspec.structs.replace(request, ticket=ticket)

    async def _carried(
        self, ask: Ask, request: Request, ticket: str, action: Any, parked: Outcome | None
    ) -> Request | Outcome | None:
        """Take the person's word to the gate; then the call itself, with its ticket, says what came of it."""
        if action not in (_ACCEPT, _DECLINE) or ask.peer.person is None:
            return None
        verdict = "approval/approve" if action == _ACCEPT else "approval/deny"
        said = await self._gate.handle(
            Request(command=verdict, credential=ask.peer.person, door=request.door, params={"id": ticket})
        )
        counts = said.status == "done"
        state = (await self._approvals.find(ask.caller.tenant, ticket)).state
        if parked is not None and state == "pending":
            hint = "Others must say yes as well." if counts else f"What was said there does not count: {said.message}"
            return msgspec.structs.replace(parked, hint=hint)
        if action == _DECLINE and not counts and state in ("pending", "approved"):
            return _unheard(said, request, ticket, state == "approved")
        return msgspec.structs.replace(request, ticket=ticket)

    @contextlib.asynccontextmanager
    async def _decided_elsewhere(self, tenant: str, ticket: str) -> AsyncIterator[asyncio.Future[None]]:
        """What is done as soon as people have decided, by whatever way."""
        decided: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def settle(state: str) -> None:
            if state != "pending" and not decided.done():
                decided.set_result(None)

        def heard(event: object) -> None:
            if isinstance(event, ApprovalDecided) and event.approval == ticket:
                settle(event.state)

        leave = self._events.subscribe(heard)
        try:
            settle((await self._approvals.find(tenant, ticket)).state)
            yield decided
        finally:
            leave()

    def _may_ask(self, ask: Ask, parked: Outcome) -> bool:
        """Whether this client can show a question, and the door holds a credential of another person than the asker."""
        if ask.era is Era.SESSIONS and not ask.channel.open:
            return False
        if len(parked.result["shown"]) > _MOST_SHOWN:
            return False
        person = self.person(ask)
        return person is not None and person.id != parked.result["caller"]

    def person(self, ask: Ask) -> Caller | None:
        """The person who can be asked through this client: one whose own credential the door holds."""
        can = ask.capabilities.get("elicitation")
        if not self._on or not isinstance(can, dict) or (can and "form" not in can) or ask.peer.person is None:
            return None
        try:
            person = self._gate.caller(ask.peer.person)
        except NotAuthenticated:
            return None
        return person if person.kind == "human" else None


def _what(request: Request) -> list[Any]:
    return [request.command, request.params, request.room]


def _unheard(said: Outcome, request: Request, ticket: str, approved: bool) -> Outcome:
    """A no that comes too late, or from somebody who has no say, decides nothing; but this call is not run on it."""
    message = f"It was declined in the client, so this call did not run. {said.message}"
    return msgspec.structs.replace(
        said,
        code=NotApproved.code,
        message=message,
        text=message,
        command=request.command,
        hint=f"If it shall run all the same, call {RESUME} with the ticket {ticket}." if approved else said.hint,
    )


def _question(parked: Outcome) -> dict[str, Any]:
    """The question and nothing to fill in: accepting it is the approval.

    What the call would change is not in it, since the program that asked carries the question.
    """
    told = parked.result
    message = (
        f"{told['caller']} ({told['kind']}) wants to run {parked.command}. It runs only if you accept, once, and"
        f" exactly so:\n\n{told['shown']}\n\nWithout an answer by {told['expiresAt']} it does not run."
        f" What it would change: doorward approvals show {parked.ticket}"
    )
    return {"message": message, "requestedSchema": {"type": "object", "properties": {}}}
