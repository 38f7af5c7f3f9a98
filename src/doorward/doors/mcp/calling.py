"""tools/call: turns a tool call into a gate request, and its outcome into a tool result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.doors.mcp import answers, owntools, results
from doorward.doors.mcp.ask import DOOR, Ask
from doorward.doors.mcp.carrying import Carrying
from doorward.doors.mcp.extras import Extras
from doorward.errors import UnknownCommand
from doorward.model import Request
from doorward.wire.codes import INVALID_PARAMS
from doorward.wire.frames import WireError, no_lookalikes
from doorward.wire.shapes import InputRequired

_KNOWN = frozenset({"name", "arguments", "_meta", "inputResponses", "requestState", "task"})
LONGEST_NAME = 400
"""Longest tool name that is looked up, in characters."""
_NOTHING: dict[str, Any] = {}


class Calling:
    def __init__(self, carrying: Carrying, extras: Extras) -> None:
        self._carrying = carrying
        self._extras = extras

    async def call(self, ask: Ask) -> bytes:
        params = ask.params
        if not _KNOWN.issuperset(params):
            no_lookalikes(params, _KNOWN, ask.method)
        name, arguments = params.get("name"), params.get("arguments", _NOTHING)
        if type(name) is not str or not 0 < len(name) <= LONGEST_NAME:
            given = f"; given {len(name)}" if type(name) is str else ""
            valid = f"a string of 1 to {LONGEST_NAME} characters{given}"
            raise WireError(INVALID_PARAMS, f"tools/call: `name` must be a tool name, {valid}.")
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
        outcome = await self._carrying.run(ask, request)
        if isinstance(outcome, bytes):
            return outcome
        if outcome.code == UnknownCommand.code and outcome.status == "refused" and name != owntools.RUN:
            raise results.unknown_tool(outcome)
        return results.tool_result(ask.era, outcome)

    async def _call_extra(self, ask: Ask, name: str, arguments: Mapping[str, Any]) -> bytes:
        given = await self._extras.call(ask, name, arguments)
        if given is None:
            raise WireError(INVALID_PARAMS, f"There is no tool {name[:80]!r}.")
        if isinstance(given, InputRequired):
            return answers.input_required(given)
        return answers.result(ask.era, given)
