"""The HTTP applications: the public one for the network, and the terminal's on the owner-only socket."""

from __future__ import annotations

import logging

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from doorward import __version__
from doorward.backends.context import Services
from doorward.doors import terminal
from doorward.doors.console.files import Files
from doorward.doors.guard import HostGuard, names
from doorward.doors.mcp.door import McpDoor
from doorward.doors.mcp.http import ShortWay, mcp_routes
from doorward.doors.metrics import CONTENT_TYPE, Metrics
from doorward.doors.rest.api import Api
from doorward.doors.rest.problems import HttpProblem, of_error
from doorward.doors.terminal import Terminal
from doorward.doors.terminal_rooms import rooms
from doorward.doors.terminal_words import Words
from doorward.errors import DEFECT, Broken
from doorward.events import CommandExecuted
from doorward.gate.gate import Gate

log = logging.getLogger(__name__)


class Server:
    """The two ASGI applications: `public` for the network, `private` for the owner's socket."""

    def __init__(self, gate: Gate, services: Services) -> None:
        self._services = services
        self.settings = services.settings.server
        self.calls = services.executions
        self.mcp = McpDoor(gate, services)
        self._metrics = Metrics(services.running, lambda: services.store.head.seq)
        services.events.subscribe(self._metrics.observe, CommandExecuted)
        shared = [Route("/health", self._health), Route("/metrics", self._show_metrics)]
        self.routed = Starlette(
            routes=[*mcp_routes(self.mcp), *shared, *Api(gate, services).routes, *Files().routes],
            exception_handlers={HTTPException: _http_error, Exception: _broken},
        )
        self.public = HostGuard(ShortWay(self.routed), names(self.settings), self.settings.allowed_origins)
        self.private = Starlette(
            routes=[
                *shared,
                *Terminal(gate, services).routes,
                *rooms(gate, services),
                *Words(gate, services).routes,
            ],
            exception_handlers=terminal.HANDLERS,
        )

    async def _health(self, request: Request) -> Response:
        services = self._services
        problems = len(services.recipes.problems) + len(services.personas.problems)
        problems += bool(services.catalogue.problem) + bool(services.servers.problem) + services.store.failing
        state = {"status": "degraded" if problems else "ok", "version": __version__, "problems": problems}
        return JSONResponse(state)

    async def _show_metrics(self, request: Request) -> Response:
        return Response(self._metrics.text(), media_type=CONTENT_TYPE)


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer unknown paths and methods."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status == 405:
        allowed = dict(getattr(error, "headers", None) or {})
        detail = f"{request.url.path} does not accept {request.method}; valid: {allowed.get('Allow', 'GET')}."
        return HttpProblem("method_not_allowed", detail, headers=allowed).response()
    there = "/api, /console, /docs, /health, /mcp, /metrics and /openapi.json"
    return HttpProblem("no_such_path", f"Unknown path {request.url.path[:200]}. The server has {there}.").response()


async def _broken(request: Request, error: Exception) -> Response:
    log.error("a request failed with a defect", exc_info=error)
    return of_error(Broken(DEFECT))
