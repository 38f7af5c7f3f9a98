"""Passes requests to the gate and turns outcomes into responses. Every REST call goes through here."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward.command import Command, as_object
from doorward.doors.live import HUNG_UP, attended
from doorward.doors.rest import problems, reading
from doorward.doors.rest.operation import Operation
from doorward.doors.rest.problems import HttpProblem
from doorward.doors.rest.resource import Answered
from doorward.errors import BadParams, NotAuthenticated
from doorward.executions.notices import Watch
from doorward.gate.gate import Gate
from doorward.model import Credential, Outcome
from doorward.model import Request as Asked

DOOR = "rest"
_NO_BEARER = "Send one Authorization header of the form `Bearer TOKEN`; another form was given."
_encode = msgspec.json.Encoder().encode


class Governed:
    """Runs commands through the gate for the sender of a request."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    async def vouched(self, request: Request, command: str) -> Credential:
        """The credential of the request, checked. A refusal comes before the body is read, and is recorded."""
        offered = reading.credentials(request)
        if offered[0].browser:
            await self._of_our_page(request, command)
        shown = offered[0]
        for shown in offered:
            with contextlib.suppress(NotAuthenticated):
                self.gate.caller(shown)
                return shown
        outcome = await self.gate.handle(Asked(command=command, credential=shown, door=DOOR))
        if not reading.is_bearer(shown):
            outcome = msgspec.structs.replace(outcome, message=_NO_BEARER)
        raise Answered(problems.of_outcome(outcome))

    async def _of_our_page(self, request: Request, command: str) -> None:
        """Refuse and record requests from pages of other sites, because browsers send cookies with them too."""
        try:
            reading.of_our_page(request)
        except HttpProblem as problem:
            nobody = Credential(token=reading.NOT_OUR_PAGE)
            outcome = await self.gate.handle(Asked(command=command, credential=nobody, door=DOOR))
            problem.call = outcome.call
            raise

    async def asked(self, operation: Operation, command: Command, request: Request) -> tuple[Asked, bytes]:
        """The gate's request for an operation, and the body."""
        reading.accepts(request, [reading.JSON])
        credential = await self.vouched(request, command.name)
        free = operation.free(command)
        in_query = [*free, *operation.matches] if operation.in_query else []
        query = reading.query(request, ["room", *in_query])
        named = {name: str(request.path_params[name]) for name in operation.named}
        body = b"" if operation.in_query else await reading.body(request)
        args, params = None, None
        if operation.in_query:
            args = tuple({**_texts({**operation.fixed, **_filter(operation, query)}), **named}.items())
            args += tuple((name, query[name]) for name in free if name in query)
        else:
            params = {**operation.fixed, **_given(operation, body, free), **named}
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

    async def outcome(self, request: Request, asked: Asked, watch: Watch | None = None) -> Outcome | None:
        """The outcome, or None when the client disconnected first, which cancels the call."""
        return await attended(request.receive, self.gate.handle(asked, watch))


def answered(outcome: Outcome | None, *, whole: bool = False, created: bool = False) -> Response:
    """An outcome as a response: its result, or with `whole` the complete outcome."""
    if outcome is None:
        return Response(status_code=HUNG_UP)
    if outcome.status in ("refused", "failed"):
        return problems.of_outcome(outcome)
    if outcome.status == "parked":
        return as_json(outcome, 202, call=outcome.call)
    body = outcome if whole else as_object(outcome.result)
    return as_json(body, 201 if created else 200, call=outcome.call)


def as_json(body: Any, status: int = 200, *, call: str = "") -> Response:
    headers = {"Cache-Control": "no-store"}
    if call:
        headers["Doorward-Call"] = call
    return Response(_encode(body), status, headers, reading.JSON)


def _given(operation: Operation, body: bytes, free: Mapping[str, Any]) -> dict[str, Any]:
    if operation.whole:
        try:
            return {operation.whole: body.decode()}
        except UnicodeDecodeError as error:
            raise BadParams(f"The body must be UTF-8; byte {error.start} is not valid.") from error
    given = reading.parsed(body)
    for name in given:
        if name not in free:
            raise BadParams(f"Unknown parameter {name[:80]!r}. The body takes {', '.join(free) or 'no parameters'}.")
    return given


def _filter(operation: Operation, query: Mapping[str, str]) -> dict[str, Any]:
    """The query parameters that narrow a list, combined into one filter."""
    where: dict[str, dict[str, str]] = {}
    for name, match in operation.matches.items():
        if name in query:
            where.setdefault(match.field, {})[match.operator] = query[name]
    return {"filter": where} if where else {}


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as text, which the gate parses by the command's schema."""
    return {name: one if isinstance(one, str) else _encode(one).decode() for name, one in values.items()}
