"""tools/call: turns a tool call into a gate request, and its outcome into a tool result."""

from __future__ import annotations

from typing import Any

from doorward.core.errors import UnknownCommand
from doorward.core.model import Request
from doorward.core.wire.codes import INVALID_PARAMS
from doorward.core.wire.frames import WireError, refuse_lookalikes
from doorward.doors.mcp import results, tools
from doorward.doors.mcp.approval_flow import ApprovalFlow
from doorward.doors.mcp.request import DOOR, McpRequest

_KNOWN_PARAMS = frozenset({"name", "arguments", "_meta", "inputResponses", "requestState", "task"})
MAX_NAME_LENGTH = 400
"""Longest tool name that is looked up, in characters."""
_NOTHING: dict[str, Any] = {}


class ToolsCall:
    def __init__(self, carrying: ApprovalFlow) -> None:
        self._flow = carrying

    async def call(self, ask: McpRequest) -> bytes:
        params = ask.params
        if not _KNOWN_PARAMS.issuperset(params):
            refuse_lookalikes(params, _KNOWN_PARAMS, ask.method)
        name, arguments = params.get("name"), params.get("arguments", _NOTHING)
        if type(name) is not str or not 0 < len(name) <= MAX_NAME_LENGTH:
            given = f"; given {len(name)}" if type(name) is str else ""
            valid = f"a string of 1 to {MAX_NAME_LENGTH} characters{given}"
            raise WireError(INVALID_PARAMS, f"tools/call: `name` must be a tool name, {valid}.")
        if type(arguments) is not dict:
            raise WireError(INVALID_PARAMS, f"{name[:80]}: `arguments` must be an object.")
        wanted = tools.resolve_tool(name, arguments)
        request = Request(
            command=wanted.command,
            credential=ask.peer.credential,
            door=DOOR,
            room=ask.peer.room,
            params=wanted.params,
            ticket=wanted.ticket,
            session=ask.peer.name,
            address=ask.peer.address,
        )
        outcome = await self._flow.run(ask, request)
        if isinstance(outcome, bytes):
            return outcome
        if outcome.code == UnknownCommand.code and outcome.status == "refused" and name != tools.RUN:
            raise results.unknown_tool_error(outcome)
        return results.encode_tool_result(ask.era, outcome, whole=ask.peer.listing == "all")
