"""HTTP: health and metrics for everybody on this machine, and the terminal's door on an owner-only socket."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from doorward import __version__, strictjson
from doorward.backends.context import Services
from doorward.doors import local
from doorward.doors.guard import HostGuard, names
from doorward.doors.live import HUNG_UP, Live, attended
from doorward.doors.mcp.door import McpDoor
from doorward.doors.mcp.http import ShortWay, mcp_routes
from doorward.doors.metrics import CONTENT_TYPE, Metrics
from doorward.doors.rest.api import Api
from doorward.doors.statuses import HTTP_STATUS
from doorward.errors import BadParams, Broken, DoorwardError
from doorward.gate.gate import Gate

log = logging.getLogger(__name__)

LARGEST_BODY = 24 * 1024 * 1024
LONGEST_ARRIVAL = 10.0
"""Seconds in which the whole body of a request must have come."""


class Server:
    """The two applications of one house: `public` for the network, `private` for the owner's socket."""

    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._services = services
        self.settings = services.settings.server
        self.calls = services.executions
        self.mcp = McpDoor(gate, services)
        self._metrics = Metrics(services.running, lambda: services.store.head.seq)
        services.events.subscribe(self._metrics.observe)
        shared = [Route("/health", self._health), Route("/metrics", self._show_metrics)]
        handlers: Any = {DoorwardError: _refused, HTTPException: _http_error, Exception: _broken}
        self.public = Starlette(
            routes=[*mcp_routes(self.mcp), *shared, *Api(gate, services).routes],
            middleware=[
                Middleware(HostGuard, allowed=names(self.settings), origins=self.settings.allowed_origins),
                Middleware(ShortWay),
            ],
            exception_handlers=handlers,
        )
        self.private = Starlette(
            routes=[
                *shared,
                Route("/api/run", self._run, methods=["POST"]),
                Route("/api/explain", self._explain, methods=["POST"]),
            ],
            exception_handlers=handlers,
        )

    async def _health(self, request: Request) -> Response:
        problems = len(self._services.recipes.problems) + bool(self._services.catalogue.problem)
        state = {"status": "degraded" if problems else "ok", "version": __version__, "problems": problems}
        return JSONResponse(state)

    async def _show_metrics(self, request: Request) -> Response:
        return Response(self._metrics.text(), media_type=CONTENT_TYPE)

    async def _run(self, request: Request) -> Response:
        ask = local.parse(await _json(request))
        asked = ask.request(self._services.registry)
        if ask.stream:
            return Live(lambda watch: self._gate.handle(asked, watch))
        outcome = await attended(request.receive, self._gate.handle(asked))
        if outcome is None:
            return Response(status_code=HUNG_UP)
        return _answer(outcome, HTTP_STATUS[outcome.code])

    async def _explain(self, request: Request) -> Response:
        ask = local.parse(await _json(request))
        return _answer(await self._gate.explain(ask.request(self._services.registry)), 200)


async def _json(request: Request) -> Any:
    """The body as strict JSON, read no further than its limit."""
    body = bytearray()
    try:
        async with asyncio.timeout(LONGEST_ARRIVAL):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LARGEST_BODY:
                    raise BadParams(f"The request is too large; at most {LARGEST_BODY} bytes are read.")
    except ClientDisconnect as error:
        raise BadParams("The caller hung up before its request had come whole.") from error
    except TimeoutError as error:
        raise BadParams(
            f"The request did not arrive whole within {LONGEST_ARRIVAL:g} s; {len(body)} bytes came."
        ) from error
    try:
        return strictjson.loads(bytes(body), max_bytes=LARGEST_BODY)
    except strictjson.NotJson as error:
        raise BadParams(f"The request is not JSON: {error}.") from error


def _answer(body: Any, status: int) -> Response:
    return Response(msgspec.json.encode(body), status_code=status, media_type="application/json")


async def _refused(request: Request, error: DoorwardError) -> Response:
    body = {"code": error.code, "message": error.message, "hint": error.hint}
    return _answer({"error": body}, HTTP_STATUS[error.code])


async def _http_error(request: Request, error: HTTPException) -> Response:
    return _answer(
        {"error": {"code": "http", "message": f"{error.detail}: {request.method} {request.url.path}"}},
        error.status_code,
    )


async def _broken(request: Request, error: Exception) -> Response:
    log.error("a request broke", exc_info=error)
    return await _refused(
        request, Broken("This request failed because of a defect in Doorward; the log has the details.")
    )
