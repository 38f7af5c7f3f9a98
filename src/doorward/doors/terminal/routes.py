"""Routes of the `doorward` command on the owner's socket: commands, rooms and completion words."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from doorward.commands.context import Services
from doorward.commands.programs.catalogue_command import CatalogueCommand
from doorward.core.command import Command
from doorward.core.errors import DEFECT, BadParams, Broken, DoorwardError
from doorward.core.model import Credential
from doorward.core.model import Request as Asked
from doorward.doors.console.stream import ConsoleStream
from doorward.doors.http.call_stream import CLIENT_CLOSED, CallStreamResponse, run_while_connected
from doorward.doors.http.problems import HTTP_STATUS, HttpProblem
from doorward.doors.rest import request_reader
from doorward.doors.rest.event_streams import StreamEndpoints
from doorward.doors.rest.gate_client import GateClient
from doorward.doors.rest.resource import Resource
from doorward.doors.rest.rooms import RoomStream
from doorward.doors.terminal import messages
from doorward.doors.terminal.messages import ROOM_OF_FOLDER_PATH, SHELL_WORDS_PATH, ShellOption, ShellWord
from doorward.gate.gate import Gate
from doorward.rooms.people import LOCAL
from doorward.shell.builtins.builtin import BUILTINS_BY_WORD

log = logging.getLogger(__name__)


class TerminalRoutes:
    """Runs and explains commands for the CLI, and finds the room of a folder."""

    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._services = services
        self.routes = [
            Route("/api/run", self._run, methods=["POST"]),
            Route("/api/explain", self._explain, methods=["POST"]),
            Route(ROOM_OF_FOLDER_PATH, self._find_room, methods=["GET"]),
        ]

    async def _run(self, request: Request) -> Response:
        ask = await _read_request(request)
        asked = await self._to_gate_request(ask)
        if ask.stream:
            return CallStreamResponse(lambda watch: self._gate.handle(asked, watch))
        outcome = await run_while_connected(request.receive, self._gate.handle(asked))
        if outcome is None:
            return Response(status_code=CLIENT_CLOSED)
        return _json_response(outcome, HTTP_STATUS[outcome.code])

    async def _explain(self, request: Request) -> Response:
        asked = await self._to_gate_request(await _read_request(request))
        return _json_response({**await self._gate.explain(asked), "room": asked.room}, 200)

    async def _find_room(self, request: Request) -> Response:
        folder = request.query_params.get("folder", "")
        return _json_response({"room": self._services.rooms.find_by_folder(LOCAL, folder)}, 200)

    async def _to_gate_request(self, ask: messages.TerminalRequest) -> Asked:
        """The request for the gate. Waits for an MCP server that is still starting and may provide the command."""
        await self._services.upstreams.discover_for(ask.command)
        return ask.to_gate_request(self._services.registry, self._services.rooms)


async def _read_request(request: Request) -> messages.TerminalRequest:
    try:
        return messages.parse_request(request_reader.parse_object(await request_reader.read_body(request)))
    except HttpProblem as problem:
        raise BadParams(problem.detail) from problem


def _json_response(body: Any, status: int) -> Response:
    return Response(msgspec.json.encode(body), status_code=status, media_type="application/json")


async def _handle_error(request: Request, error: DoorwardError) -> Response:
    body = {"code": error.code, "message": error.message, "hint": error.hint}
    return _json_response({"error": body}, HTTP_STATUS[error.code])


async def _handle_http_error(request: Request, error: HTTPException) -> Response:
    body = {"code": "http", "message": f"{error.detail}: {request.method} {request.url.path}"}
    return _json_response({"error": body}, error.status_code)


async def _handle_defect(request: Request, error: Exception) -> Response:
    log.error("a request failed with a defect", exc_info=error)
    return await _handle_error(request, Broken(DEFECT))


EXCEPTION_HANDLERS: dict[Any, Any] = {
    DoorwardError: _handle_error,
    HTTPException: _handle_http_error,
    Exception: _handle_defect,
}
"""Error responses for the terminal."""


class _OwnerGateClient(GateClient):
    async def authenticate(self, request: Request, command: str) -> Credential:
        """The operating system lets only the owner open the socket, so no token is needed."""
        return Credential(owner=True)


def room_routes(gate: Gate, services: Services) -> list[BaseRoute]:
    governed = _OwnerGateClient(gate)
    streams = StreamEndpoints(governed, services)
    room = RoomStream(governed, services, streams.slots)
    telling = ConsoleStream(governed, streams, room, services)
    return [
        Route("/api/console/stream", Resource({"GET": telling.stream})),
        Route("/api/rooms/{name}/typing", Resource({"POST": room.typing})),
    ]


class ShellWordRoutes:
    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._services = services
        self.routes = [Route(SHELL_WORDS_PATH, self._serve_words, methods=["GET"])]

    async def _serve_words(self, request: Request) -> Response:
        caller = self._gate.caller(Credential(owner=True))
        room = caller.resolve_room(request.query_params.get("room", ""))
        if room:
            self._gate.enter(caller, room)
        found = list_words(self._gate.offered(caller, room), self._services.sessions.builtins)
        return Response(msgspec.json.encode(found), media_type="application/json")


def list_words(offered: Iterable[Command], builtins: Mapping[str, str]) -> list[ShellWord]:
    """Built-ins, then programs, then all other commands: the order in which the shell looks up a word."""
    by_name = {command.name: command for command in offered}
    found = {
        word: ShellWord(word, name, by_name[name].summary, list(_builtin_options(word)))
        for word, name in sorted(builtins.items())
        if name in by_name
    }
    for command in by_name.values():
        if isinstance(command, CatalogueCommand) and command.entry.name not in found:
            word = command.entry.name
            found[word] = ShellWord(word, command.name, command.summary, list(_program_options(command)))
    hidden = set(builtins.values())
    for command in by_name.values():
        if command.name not in hidden and not command.unlisted:
            found[command.name] = ShellWord(
                command.name, command.name, command.summary, list(_command_options(command))
            )
    return list(found.values())


def _builtin_options(word: str) -> Iterator[ShellOption]:
    known = BUILTINS_BY_WORD.get(word)
    for spelt, about in known.options.items() if known is not None else ():
        for spelling in spelt.split():
            if spelling.startswith("-"):
                yield ShellOption(spelling, about)


def _program_options(command: CatalogueCommand) -> Iterator[ShellOption]:
    for one in command.entry.options:
        if one.long:
            takes = "=" if one.spelled == "equals" and one.type != "flag" else ""
            yield ShellOption(f"{one.long}{takes}", one.help, list(one.choices))
        if one.short:
            yield ShellOption(one.short, one.help, list(one.choices))


def _command_options(command: Command) -> Iterator[ShellOption]:
    for name, spec in command.schema["properties"].items():
        about = spec if isinstance(spec, dict) else {}
        choices = [str(one) for one in about.get("enum", ()) if isinstance(one, str)]
        yield ShellOption(f"--{name}=", str(about.get("description", "")), choices)
