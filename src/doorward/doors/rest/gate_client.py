"""Passes requests to the gate and turns outcomes into responses. Every REST call goes through here."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward.core.command import Command, to_object
from doorward.core.errors import BadParams, NotAuthenticated
from doorward.core.model import Credential, Outcome
from doorward.core.model import Request as Asked
from doorward.doors.http import problems
from doorward.doors.http.call_stream import CLIENT_CLOSED, run_while_connected
from doorward.doors.http.problems import HttpProblem
from doorward.doors.http.request_cycle import authenticate_sender
from doorward.doors.rest import request_reader
from doorward.doors.rest.operation import CommandOperation
from doorward.doors.rest.resource import ResponseReady
from doorward.doors.rest.sse import principal_of
from doorward.gate.executions.notices import Watcher
from doorward.gate.gate import Gate

DOOR = "rest"
_NO_BEARER = "Send one Authorization header of the form `Bearer TOKEN`; another form was given."
_encode = msgspec.json.Encoder().encode


class GateClient:
    """Runs commands through the gate for the sender of a request."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    async def authenticate(self, request: Request, command: str) -> Credential:
        """The credential of the request, checked. A refusal comes before the body is read, and is recorded."""
        offered = request_reader.read_credentials(request)
        if offered[0].browser:
            await self._check_same_site(request, command)
        shown = offered[0]
        for shown in offered:
            with contextlib.suppress(NotAuthenticated):
                caller = self.gate.caller(shown)
                authenticate_sender(request.scope, principal_of(caller))
                return shown
        address = request_reader.client_address(request)
        outcome = await self.gate.handle(Asked(command=command, credential=shown, door=DOOR, address=address))
        if outcome.code == NotAuthenticated.code and not request_reader.is_bearer(shown):
            outcome = msgspec.structs.replace(outcome, message=_NO_BEARER)
        raise ResponseReady(problems.problem_response(outcome))

    async def _check_same_site(self, request: Request, command: str) -> None:
        """Refuse and record requests from pages of other sites, because browsers send cookies with them too."""
        try:
            request_reader.check_same_site(request)
        except HttpProblem as problem:
            nobody = Credential(token=request_reader.FOREIGN_PAGE)
            address = request_reader.client_address(request)
            outcome = await self.gate.handle(Asked(command=command, credential=nobody, door=DOOR, address=address))
            problem.call = outcome.call
            raise

    async def build_request(
        self, operation: CommandOperation, command: Command, request: Request
    ) -> tuple[Asked, bytes]:
        """The gate's request for an operation, and the body."""
        request_reader.negotiate_format(request, [request_reader.JSON])
        credential = await self.authenticate(request, command.name)
        free = operation.open_parameters(command)
        in_query = [*free, *operation.matches] if operation.uses_query else []
        query = request_reader.read_query(request, ["room", *in_query])
        named = {name: str(request.path_params[name]) for name in operation.path_parameters}
        body = b"" if operation.uses_query else await request_reader.read_json_body(request)
        args, params = None, None
        if operation.uses_query:
            args = tuple({**_to_texts({**operation.fixed, **_build_filter(operation, query)}), **named}.items())
            args += tuple((name, query[name]) for name in free if name in query)
        else:
            params = {**operation.fixed, **_parse_params(operation, body, free), **named}
        asked = Asked(
            command=command.name,
            credential=credential,
            door=DOOR,
            room=query.get("room", ""),
            params=params,
            args=args,
            dry_run=operation.dry_run,
        )
        return asked, body

    async def run(self, request: Request, asked: Asked, watch: Watcher | None = None) -> Outcome | None:
        """The outcome, or None when the client disconnected first, which cancels the call."""
        return await run_while_connected(request.receive, self.gate.handle(asked, watch))


def outcome_response(outcome: Outcome | None, *, whole: bool = False, created: bool = False) -> Response:
    """An outcome as a response: its result, or with `whole` the complete outcome."""
    if outcome is None:
        return Response(status_code=CLIENT_CLOSED)
    if outcome.status in ("refused", "failed"):
        return problems.problem_response(outcome)
    if outcome.status == "parked":
        return json_response(outcome, 202, call=outcome.call)
    body = outcome if whole else to_object(outcome.result)
    return json_response(body, 201 if created else 200, call=outcome.call)


def json_response(body: Any, status: int = 200, *, call: str = "") -> Response:
    headers = {"Cache-Control": "no-store"}
    if call:
        headers["Doorward-Call"] = call
    return Response(_encode(body), status, headers, request_reader.JSON)


def _parse_params(operation: CommandOperation, body: bytes, free: Mapping[str, Any]) -> dict[str, Any]:
    if operation.whole:
        try:
            return {operation.whole: body.decode()}
        except UnicodeDecodeError as error:
            raise BadParams(f"The body must be UTF-8; byte {error.start} is not valid.") from error
    given = request_reader.parse_optional_object(body)
    for name in given:
        if name not in free:
            raise BadParams(f"Unknown parameter {name[:80]!r}. The body takes {', '.join(free) or 'no parameters'}.")
    return given


def _build_filter(operation: CommandOperation, query: Mapping[str, str]) -> dict[str, Any]:
    """The query parameters that narrow a list, combined into one filter."""
    where: dict[str, dict[str, str]] = {}
    for name, match in operation.matches.items():
        if name in query:
            where.setdefault(match.field, {})[match.operator] = query[name]
    return {"filter": where} if where else {}


def _to_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as text, which the gate parses by the command's schema."""
    return {name: one if isinstance(one, str) else _encode(one).decode() for name, one in values.items()}
