"""Runs a gate request for a client, with approvals, questions of other MCP servers, and progress."""

from __future__ import annotations

from collections.abc import Awaitable

from doorward.commands.context import Services
from doorward.core.model import Outcome, Request
from doorward.doors.mcp.approval_prompt import ApprovalPrompt
from doorward.doors.mcp.elicitation import Elicitation
from doorward.doors.mcp.progress import ProgressReporter
from doorward.doors.mcp.request import McpRequest, check_authenticated
from doorward.gate.gate import Gate


class ApprovalFlow:
    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._prompt = ApprovalPrompt(gate, services)
        self._elicitation = Elicitation(gate, services, self._prompt)

    async def run(self, ask: McpRequest, request: Request) -> Outcome | bytes:
        """The outcome, or in the stateless era a result that asks the client for input."""
        resumes = False
        if ask.request_state:
            resumes = self._elicitation.is_held(ask, request)
            if not resumes:
                decided = await self._prompt.apply_answer(ask, request)
                if not isinstance(decided, Request):
                    return decided
                request = decided
        outcome = await self._handle(ask, request, resumes)
        if isinstance(outcome, bytes):
            return outcome
        if outcome.status == "parked":
            asked = await self._prompt.ask_person(ask, request, outcome)
            if isinstance(asked, bytes):
                return asked
            if isinstance(asked, Request):
                outcome = await self._handle(ask, asked, False)
            elif asked is not None:
                outcome = asked
        if isinstance(outcome, Outcome):
            check_authenticated(outcome)
        return outcome

    def _handle(self, ask: McpRequest, request: Request, resumes: bool) -> Awaitable[Outcome | bytes]:
        """Run the request through the gate, with progress if the client wants it and can get it."""
        asks = resumes or self._elicitation.can_ask(ask)
        meta, peer = ask.meta, ask.peer
        tells = ask.channel.open and (meta.progress is not None or peer.level is not None or meta.level is not None)
        if tells:
            return self._handle_with_progress(ask, request, resumes, asks)
        return self._handle_with_questions(ask, request, resumes, None) if asks else self._gate.handle(request)

    async def _handle_with_progress(
        self, ask: McpRequest, request: Request, resumes: bool, asks: bool
    ) -> Outcome | bytes:
        watcher = ProgressReporter(ask)
        try:
            if asks:
                outcome = await self._handle_with_questions(ask, request, resumes, watcher)
            else:
                outcome = await self._gate.handle(request, watcher.report)
            await watcher.finish()
        finally:
            watcher.stop()
        return outcome

    async def _handle_with_questions(
        self, ask: McpRequest, request: Request, resumes: bool, watcher: ProgressReporter | None
    ) -> Outcome | bytes:
        watch = watcher.report if watcher is not None else None
        if resumes:
            return await self._elicitation.resume(ask, request, watch)
        return await self._elicitation.run(ask, request, watch)
