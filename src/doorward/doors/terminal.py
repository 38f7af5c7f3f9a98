"""Routes of the `doorward` CLI on the owner's socket: JSON over HTTP."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from doorward.backends.context import Services
from doorward.doors import local
from doorward.doors.live import HUNG_UP, Live, attended
from doorward.doors.rest import reading
from doorward.doors.rest.problems import HttpProblem
from doorward.doors.statuses import HTTP_STATUS
from doorward.errors import DEFECT, BadParams, Broken, DoorwardError
from doorward.gate.gate import Gate
from doorward.model import Request as Asked

log = logging.getLogger(__name__)


class Terminal:
    """Runs and explains commands for the CLI."""

    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._services = services
        self.routes = [
            Route("/api/run", self._run, methods=["POST"]),
            Route("/api/explain", self._explain, methods=["POST"]),
        ]

    async def _run(self, request: Request) -> Response:
        ask = await _ask(request)
        asked = await self._meant(ask)
        if ask.stream:
            return Live(lambda watch: self._gate.handle(asked, watch))
        outcome = await attended(request.receive, self._gate.handle(asked))
        if outcome is None:
            return Response(status_code=HUNG_UP)
        return _answer(outcome, HTTP_STATUS[outcome.code])

    async def _explain(self, request: Request) -> Response:
        ask = await _ask(request)
        return _answer(await self._gate.explain(await self._meant(ask)), 200)

    async def _meant(self, ask: local.Ask) -> Asked:
        """The request for the gate. Waits for an MCP server that is still starting and may provide the command."""
        await self._services.upstreams.look_for(ask.command)
        return ask.request(self._services.registry)


async def _ask(request: Request) -> local.Ask:
    try:
        return local.parse(reading.object_in(await reading.whole(request)))
    except HttpProblem as problem:
        raise BadParams(problem.detail) from problem


def _answer(body: Any, status: int) -> Response:
    return Response(msgspec.json.encode(body), status_code=status, media_type="application/json")


async def _refused(request: Request, error: DoorwardError) -> Response:
    body = {"code": error.code, "message": error.message, "hint": error.hint}
    return _answer({"error": body}, HTTP_STATUS[error.code])


async def _http_error(request: Request, error: HTTPException) -> Response:
    body = {"code": "http", "message": f"{error.detail}: {request.method} {request.url.path}"}
    return _answer({"error": body}, error.status_code)


async def _broken(request: Request, error: Exception) -> Response:
    log.error("a request failed with a defect", exc_info=error)
    return await _refused(request, Broken(DEFECT))


HANDLERS: dict[Any, Any] = {DoorwardError: _refused, HTTPException: _http_error, Exception: _broken}
"""Error responses for the terminal."""
