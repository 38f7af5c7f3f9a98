"""tools/call: a tool's name and arguments become a request to the gate, and its outcome becomes a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.backends.context import Services
from doorward.doors.mcp import answers, owntools, results
from doorward.doors.mcp.approving import Approving
from doorward.doors.mcp.ask import DOOR, Ask
from doorward.doors.mcp.extras import Extras
from doorward.doors.mcp.watching import Watcher
from doorward.errors import NotAuthenticated, UnknownCommand
from doorward.gate.gate import Gate
from doorward.model import Outcome, Request
from doorward.wire.codes import INVALID_PARAMS
from doorward.wire.frames import WireError, no_lookalikes
from doorward.wire.shapes import InputRequired

_KNOWN = frozenset({"name", "arguments", "_meta", "inputResponses", "requestState", "task"})
_NOTHING: dict[str, Any] = {}


class Calling:
    def __init__(self, gate: Gate, services: Services, extras: Extras) -> None:
        self._gate = gate
        self._extras = extras
        self._approving = Approving(gate, services)

    async def call(self, ask: Ask) -> bytes:
        params = ask.params
        if not _KNOWN.issuperset(params):
            no_lookalikes(params, _KNOWN, ask.method)
        name, arguments = params.get("name"), params.get("arguments", _NOTHING)
        if type(name) is not str or not name or len(name) > 400:
            raise WireError(INVALID_PARAMS, "tools/call: `name` must be the name of a tool, as a text.")
        if type(arguments) is not dict:
            raise WireError(INVALID_PARAMS, f"{name[:80]}: `arguments` must be an object.")
        if self._extras.tools and any(tool.name == name for tool in self._extras.tools):
            return await self._call_extra(ask, name, arguments)
        wanted = owntools.wanted(name, arguments)
        request = Request(
            command=wanted.command,
            credential=ask.peer.credential,
            door=DOOR,
            room=ask.peer.room,
            params=wanted.params,
            ticket=wanted.ticket,
            session=ask.peer.name,
        )
        if ask.state:
            decided = await self._approving.decided(ask, request)
            if not isinstance(decided, Request):
                return results.tool_result(ask.era, decided)
            request = decided
        outcome = await self._handle(ask, request)
        if outcome.status == "parked":
            asked = await self._approving.asked(ask, request, outcome)
            if isinstance(asked, bytes):
                return asked
            if isinstance(asked, Request):
                outcome = await self._handle(ask, asked)
            elif asked is not None:
                outcome = asked
        if outcome.code == NotAuthenticated.code:
            raise NotAuthenticated(outcome.message, hint=outcome.hint)
        if outcome.code == UnknownCommand.code and outcome.status == "refused" and name != owntools.RUN:
            raise results.unknown_tool(outcome)
        return results.tool_result(ask.era, outcome)

    async def _handle(self, ask: Ask, request: Request) -> Outcome:
        """Through the gate, telling the client what goes on if it wants to hear it and there is a way."""
        if not ask.channel.open or (ask.meta.progress is None and ask.peer.level is None and ask.meta.level is None):
            return await self._gate.handle(request)
        watcher = Watcher(ask)
        try:
            outcome = await self._gate.handle(request, watcher.put)
            await watcher.finish()
        finally:
            watcher.stop()
        return outcome

    async def _call_extra(self, ask: Ask, name: str, arguments: Mapping[str, Any]) -> bytes:
        given = await self._extras.call(ask, name, arguments)
        if given is None:
            raise WireError(INVALID_PARAMS, f"There is no tool {name[:80]!r}.")
        if isinstance(given, InputRequired):
            return answers.input_required(given)
        return answers.result(ask.era, given)
