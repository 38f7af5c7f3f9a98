"""Runs a gate request for a client, with approvals, questions of other MCP servers, and progress."""

from __future__ import annotations

from collections.abc import Awaitable

from doorward.backends.context import Services
from doorward.doors.mcp.approving import Approving
from doorward.doors.mcp.ask import Ask
from doorward.doors.mcp.questioning import Questioning
from doorward.doors.mcp.watching import Watcher
from doorward.errors import NotAuthenticated
from doorward.gate.gate import Gate
from doorward.model import Outcome, Request


class Carrying:
    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._approving = Approving(gate, services)
        self._questioning = Questioning(gate, services, self._approving)

    async def run(self, ask: Ask, request: Request) -> Outcome | bytes:
        """The outcome, or in the stateless era a result that asks the client for input."""
        resumes = False
        if ask.state:
            resumes = self._questioning.is_held(ask, request)
            if not resumes:
                decided = await self._approving.decided(ask, request)
                if not isinstance(decided, Request):
                    return decided
                request = decided
        outcome = await self._handle(ask, request, resumes)
        if isinstance(outcome, bytes):
            return outcome
        if outcome.status == "parked":
            asked = await self._approving.asked(ask, request, outcome)
            if isinstance(asked, bytes):
                return asked
            if isinstance(asked, Request):
                outcome = await self._handle(ask, asked, False)
            elif asked is not None:
                outcome = asked
        if isinstance(outcome, Outcome) and outcome.code == NotAuthenticated.code:
            raise NotAuthenticated(outcome.message, hint=outcome.hint)
        return outcome

    def _handle(self, ask: Ask, request: Request, resumes: bool) -> Awaitable[Outcome | bytes]:
        """Run the request through the gate, with progress if the client wants it and can get it."""
        asks = resumes or self._questioning.may(ask)
        meta, peer = ask.meta, ask.peer
        tells = ask.channel.open and (meta.progress is not None or peer.level is not None or meta.level is not None)
        if tells:
            return self._told(ask, request, resumes, asks)
        return self._asking(ask, request, resumes, None) if asks else self._gate.handle(request)

    async def _told(self, ask: Ask, request: Request, resumes: bool, asks: bool) -> Outcome | bytes:
        watcher = Watcher(ask)
        try:
            if asks:
                outcome = await self._asking(ask, request, resumes, watcher)
            else:
                outcome = await self._gate.handle(request, watcher.put)
            await watcher.finish()
        finally:
            watcher.stop()
        return outcome

    async def _asking(self, ask: Ask, request: Request, resumes: bool, watcher: Watcher | None) -> Outcome | bytes:
        watch = watcher.put if watcher is not None else None
        if resumes:
            return await self._questioning.resumed(ask, request, watch)
        return await self._questioning.run(ask, request, watch)
