"""The route of client hooks on the owner's socket: a client's hook input in, its answer out."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from doorward.commands.context import Services
from doorward.core.errors import BadParams, DoorwardError
from doorward.core.model import Credential, Outcome
from doorward.core.model import Request as GateRequest
from doorward.doors.hooks import answers
from doorward.doors.hooks.native_calls import HookInput, NativeCall, list_calls, parse_input
from doorward.doors.http.call_stream import CLIENT_CLOSED, run_while_connected
from doorward.doors.http.problems import HTTP_STATUS, HttpProblem
from doorward.doors.rest import request_reader
from doorward.gate.gate import Gate
from doorward.rooms.people import LOCAL

DOOR = "hook"
_JSON = "application/json"
_POLL_SECONDS = 0.2
_LONGEST_WAIT = 600.0


class HookRoutes:
    """Answers hooks. A tool may run only if every gate call about it is done."""

    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._services = services
        self.routes = [Route("/api/hooks/{client}", self._answer, methods=["POST"])]

    async def _answer(self, request: Request) -> Response:
        try:
            _check_request(request)
            asked = parse_input(await _read_body(request))
            body = await run_while_connected(request.receive, self._decide(request, asked))
            return Response(status_code=CLIENT_CLOSED) if body is None else Response(body, media_type=_JSON)
        except DoorwardError as error:
            reason = _join_sentences(error.message, error.hint)
            return Response(reason, HTTP_STATUS[error.code], media_type="text/plain")

    async def _decide(self, request: Request, asked: HookInput) -> bytes:
        client, query = request.path_params["client"], request.query_params
        room = query.get("room", "")
        if query.get("mode") == "sandbox" and answers.REPLACED_TOOLS.get(client) == asked.tool:
            return self._encode_replacement(client, room, asked)
        return await self._judge(client, room, asked, _parse_wait(query.get("wait", "")))

    async def _judge(self, client: str, room: str, asked: HookInput, wait: float) -> bytes:
        calls = list_calls(client, asked)
        for call in calls:
            outcome = await self._pass_gate(client, room, call, wait)
            if outcome.status != "done":
                return answers.encode_deny(client, _explain(outcome, call))
        return answers.encode_allow(client) if calls else answers.encode_no_decision()

    async def _pass_gate(self, client: str, room: str, call: NativeCall, wait: float) -> Outcome:
        """Ask the gate, and wait for a person where the recipe requires approval."""
        request = GateRequest(
            command=call.command,
            credential=Credential(owner=True, speak_as=client),
            door=DOOR,
            room=room,
            params=call.params,
        )
        outcome = await self._gate.handle(request)
        if outcome.status != "parked" or not await self._is_decided(outcome.ticket, wait):
            return outcome
        return await self._gate.handle(msgspec.structs.replace(request, ticket=outcome.ticket))

    async def _is_decided(self, ticket: str, wait: float) -> bool:
        loop = asyncio.get_running_loop()
        end = loop.time() + wait
        while (await self._services.approvals.find(LOCAL, ticket)).state == "pending":
            if loop.time() >= end:
                return False
            await asyncio.sleep(_POLL_SECONDS)
        return True

    def _encode_replacement(self, client: str, room: str, asked: HookInput) -> bytes:
        """Replace a command line by one that runs it through the gate, in the sandbox."""
        root = os.path.realpath(self._services.workspaces.find(LOCAL, room))
        given = asked.script_folder or root
        folder = os.path.relpath(os.path.realpath(given), root)
        if folder == ".." or folder.startswith("../"):
            return answers.encode_deny(client, f"{given} is outside the workspace {root} of room {room!r}.")
        program = [
            "/usr/bin/env",
            f"DOORWARD_HOME={self._services.home}",
            sys.executable,
            "-I",
            "-m",
            "doorward",
            "run",
        ]
        options = [f"--room={room}", f"--as={client}", "--wait", "--text"]
        line = shlex.join([*program, *options, "bash", f"--command={asked.script}", f"--folder={folder}"])
        return answers.encode_allow(client, {**asked.input, "command": line})


def _check_request(request: Request) -> None:
    client, mode = request.path_params["client"], request.query_params.get("mode", "judge")
    if client not in answers.CLIENTS:
        raise BadParams(f"Unknown client {client[:80]!r}; valid: {', '.join(answers.CLIENTS)}.")
    if mode not in ("judge", "sandbox"):
        raise BadParams(f"mode takes judge or sandbox; given {mode[:80]!r}.")


async def _read_body(request: Request) -> dict[str, object]:
    try:
        return request_reader.parse_object(await request_reader.read_body(request))
    except HttpProblem as problem:
        raise BadParams(f"The hook's input is not valid: {problem.detail}") from problem


def _parse_wait(text: str) -> float:
    try:
        wait = float(text or 0)
    except ValueError:
        wait = -1.0
    if not 0 <= wait <= _LONGEST_WAIT:
        raise BadParams(f"wait takes a number of seconds from 0 to {_LONGEST_WAIT:g}; given {text[:80]!r}.")
    return wait


def _explain(outcome: Outcome, call: NativeCall) -> str:
    """The reason that the model reads, with Doorward's tools that do the same under the room's rules."""
    if outcome.status == "parked":
        said = f"{outcome.message} Nobody has approved it yet, so nothing ran (ticket {outcome.ticket})."
    else:
        said = _join_sentences(outcome.message, outcome.hint)
    return f"Doorward: {said} Use Doorward's MCP tools instead: {call.instead}."


def _join_sentences(message: str, hint: str) -> str:
    return f"{message} {hint if hint.endswith('.') else f'{hint}.'}" if hint else message
