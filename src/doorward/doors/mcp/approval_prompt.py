"""Approval in the client: the person there sees the exact call, and accepts or declines it.

The door decides nothing. It asks only if it holds the credential of a person. It passes the answer to the gate with
that credential, and the gate decides whether the answer counts. The agent's own credential is never used. People can
also decide elsewhere, such as in a terminal: the first decision counts, and the question is withdrawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.commands.approval_rules import find_offered_rules
from doorward.commands.context import Services
from doorward.config.home import Home
from doorward.core.errors import NotApproved, NotAuthenticated, Overloaded
from doorward.core.model import Caller, Outcome, Request
from doorward.core.wire.frames import WireError
from doorward.core.wire.types import InputRequiredResult
from doorward.doors.mcp import encoding
from doorward.doors.mcp.request import McpRequest, RequestWithdrawn, StateSealer
from doorward.doors.mcp.results import RESUME
from doorward.doors.mcp.versions import Era
from doorward.gate import outcomes
from doorward.gate.decision_watch import GRACE, watch_decision
from doorward.gate.gate import Gate

_KEY = "approval"
_ACCEPT, _DECLINE = "accept", "decline"
_SCOPE, _SESSION = "scope", "session"
_MAX_CALL_LENGTH = 50_000
"""Longest call, in characters, that a client is asked about. A longer one would be cut, and nobody should approve text
that they did not see: it is decided elsewhere."""


class ApprovalPrompt:
    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._clock = services.clock
        self._events = services.events
        self._approvals = services.approvals
        self._registry = services.registry
        self._enabled = services.settings.mcp.elicitation
        self._use_within = services.settings.approvals.use_within
        self._states = StateSealer(Home(services.home).load_key(), services.clock)

    async def ask_person(self, ask: McpRequest, request: Request, parked: Outcome) -> Request | Outcome | bytes | None:
        """Ask the person about a call that waits for approval, if a person can be asked.

        Returns the request to continue with, the outcome or result to answer with, or None: the call keeps waiting.
        """
        if not self._can_ask(ask, parked):
            return None
        approval = await self._approvals.find(ask.caller.tenant, parked.ticket)
        offered, _ = find_offered_rules(self._registry, approval)
        question = _build_question(parked, offered[0].text if offered else "")
        longest = approval.expires_at + approval.hold_seconds
        if ask.era is Era.STATELESS:
            # The state outlives the question, so that a late client still gets the decision from the gate.
            state = self._states.seal(parked.ticket, ask.caller, _call_identity(request), longest + self._use_within)
            return encoding.encode_input_required(
                InputRequiredResult(
                    input_requests={_KEY: {"method": "elicitation/create", "params": question}}, request_state=state
                )
            )
        patience = max(longest - self._clock.now(), 0.0) + 2 * GRACE
        try:
            tenant, ticket = ask.caller.tenant, parked.ticket
            async with watch_decision(self._approvals, self._events, self._clock, tenant, ticket) as needless:
                answer = await ask.send_request("elicitation/create", question, patience, needless)
        except (TimeoutError, RequestWithdrawn):
            return msgspec.structs.replace(request, ticket=parked.ticket)
        except (WireError, Overloaded):
            return None
        return await self._submit_decision(ask, request, parked.ticket, answer, parked)

    async def apply_answer(self, ask: McpRequest, request: Request) -> Request | Outcome:
        """Apply the person's answer, which a stateless client sends with its second request.

        Without an answer the state of the ticket counts: somebody may have decided elsewhere. If nobody has, the call
        keeps waiting.
        """
        ticket = self._states.open(ask.request_state, ask.caller, _call_identity(request))
        answer = ask.input_responses.get(_KEY)
        carried = await self._submit_decision(ask, request, ticket, answer if isinstance(answer, dict) else {}, None)
        if carried is None:
            approval = await self._approvals.find(ask.caller.tenant, ticket)
            if approval.state == "pending":
                return outcomes.parked("", approval)
        return carried or msgspec.structs.replace(request, ticket=ticket)

    async def _submit_decision(
        self, ask: McpRequest, request: Request, ticket: str, answer: Mapping[str, Any], parked: Outcome | None
    ) -> Request | Outcome | None:
        """Pass the person's answer to the gate, and return the call with its ticket, so that it runs or is refused."""
        action = answer.get("action")
        if action not in (_ACCEPT, _DECLINE) or ask.peer.person is None:
            return None
        verdict = "approval/approve" if action == _ACCEPT else "approval/deny"
        content = answer.get("content")
        lasts = action == _ACCEPT and isinstance(content, dict) and content.get(_SCOPE) == _SESSION
        params = {"id": ticket, **({_SCOPE: _SESSION} if lasts else {})}
        said = await self._gate.handle(
            Request(command=verdict, credential=ask.peer.person, door=request.door, params=params)
        )
        counts = said.status == "done"
        state = (await self._approvals.find(ask.caller.tenant, ticket)).state
        if parked is not None and state == "pending":
            hint = "More approvals are needed." if counts else f"The client's answer does not count: {said.message}"
            return msgspec.structs.replace(parked, hint=hint)
        if action == _DECLINE and not counts and state in ("pending", "approved"):
            return _ineffective_decline(said, request, ticket, state == "approved")
        return msgspec.structs.replace(request, ticket=ticket)

    def _can_ask(self, ask: McpRequest, parked: Outcome) -> bool:
        """Whether the client can show the question, and the door holds the credential of another person."""
        if ask.era is Era.SESSIONS and not ask.channel.open:
            return False
        if len(parked.result["shown"]) > _MAX_CALL_LENGTH:
            return False
        person = self.find_person(ask)
        return person is not None and person.id != parked.result["caller"]

    def find_person(self, ask: McpRequest) -> Caller | None:
        """The person who can be asked through this client. The door must hold that person's own credential."""
        can = ask.capabilities.get("elicitation")
        if not self._enabled or not isinstance(can, dict) or (can and "form" not in can) or ask.peer.person is None:
            return None
        try:
            person = self._gate.caller(ask.peer.person)
        except NotAuthenticated:
            return None
        return person if person.kind == "human" else None


def _call_identity(request: Request) -> list[Any]:
    return [request.command, request.params, request.room]


def _ineffective_decline(said: Outcome, request: Request, ticket: str, approved: bool) -> Outcome:
    """The outcome of a decline that is late or not permitted: it decides nothing, but the call does not run."""
    message = f"The call was declined in the client, so it did not run. {said.message}"
    return msgspec.structs.replace(
        said,
        code=NotApproved.code,
        message=message,
        text=message,
        command=request.command,
        hint=f"To run it anyway, call {RESUME} with the ticket {ticket}." if approved else said.hint,
    )


def _build_question(parked: Outcome, rule: str) -> dict[str, Any]:
    """The elicitation. Accepting it is the approval; where a `rule` is offered, its form can extend it to the session.

    It does not show what the call would change, because the program that made the call carries the question.
    """
    told = parked.result
    form: dict[str, Any] = {"type": "object", "properties": {}}
    lasting = f"If you choose session, later calls of this session run without asking: {rule}.\n\n" if rule else ""
    message = (
        f"{told['caller']} ({told['kind']}) wants to run {parked.command}. If you accept, exactly this call runs,"
        f" once:\n\n{told['shown']}\n\n{lasting}If you do not answer by {told['expiresAt']}, it does not run."
        f" To see what it would change: doorward approvals show {parked.ticket}"
    )
    if rule:
        form["properties"][_SCOPE] = {
            "type": "string",
            "title": "For how long",
            "description": "once: this call only. session: until the session of this client ends.",
            "enum": ["once", _SESSION],
            "default": "once",
        }
    return {"message": message, "requestedSchema": form}
