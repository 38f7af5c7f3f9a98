"""The HTTP applications: the public one for the network, and the terminal's on the owner-only socket."""

from __future__ import annotations

import logging

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from doorward import __version__
from doorward.commands.context import Services
from doorward.core.errors import DEFECT, Broken
from doorward.core.events import CommandExecuted, EnergyChanged, SubAgentReported
from doorward.doors.console.static_files import ConsoleFiles
from doorward.doors.hooks.routes import HookRoutes
from doorward.doors.http.host_guard import HostGuard, allowed_host_names, allowed_origins
from doorward.doors.http.metrics import CONTENT_TYPE, Metrics
from doorward.doors.http.problems import HttpProblem, error_response
from doorward.doors.mcp.door import McpDoor
from doorward.doors.mcp.http import EndpointShortcut, mcp_routes
from doorward.doors.rest.api import RestApi
from doorward.doors.terminal import routes
from doorward.doors.terminal.routes import ShellWordRoutes, TerminalRoutes, room_routes
from doorward.gate.gate import Gate
from doorward.rooms.people import LOCAL
from doorward.store.storage_health import StorageHealth

log = logging.getLogger(__name__)


class HttpApplications:
    """The two ASGI applications: `public` for the network, `private` for the owner's socket."""

    def __init__(self, gate: Gate, services: Services) -> None:
        self._services = services
        self.settings = services.settings.server
        self.executions = services.executions
        self.budget = services.intake
        self.mcp = McpDoor(gate, services)
        self._storage = StorageHealth(services.store)
        self._metrics = Metrics(
            services.count_running, lambda: services.store.head.seq, services.intake, self._read_energy_levels
        )
        services.events.subscribe(self._metrics.observe, CommandExecuted)
        services.events.subscribe(self._metrics.observe_charge, EnergyChanged)
        services.events.subscribe(self._metrics.observe_request, SubAgentReported)
        shared = [Route("/health", self._serve_health), Route("/metrics", self._serve_metrics)]
        self.router = Starlette(
            routes=[*mcp_routes(self.mcp), *shared, *RestApi(gate, services).routes, *ConsoleFiles().routes],
            exception_handlers={HTTPException: _handle_http_error, Exception: _handle_defect},
        )
        self.public = HostGuard(
            EndpointShortcut(self.router), allowed_host_names(self.settings), allowed_origins(self.settings)
        )
        self.private = Starlette(
            routes=[
                *shared,
                *TerminalRoutes(gate, services).routes,
                *HookRoutes(gate, services).routes,
                *room_routes(gate, services),
                *ShellWordRoutes(gate, services).routes,
            ],
            exception_handlers=routes.EXCEPTION_HANDLERS,
        )

    async def _serve_health(self, request: Request) -> Response:
        """Report `ok`, `degraded` (a file is not valid), or `failed` with status 503 (the database is unusable)."""
        services = self._services
        has_failed = bool(await self._storage.problem())
        problems = len(services.recipes.problems) + len(services.personas.problems)
        problems += bool(services.catalogue.problem) + bool(services.servers.problem) + has_failed
        status = "failed" if has_failed else "degraded" if problems else "ok"
        state = {"status": status, "version": __version__, "problems": problems}
        return JSONResponse(state, 503 if has_failed else 200)

    def _read_energy_levels(self) -> dict[str, float]:
        """The energy of each agent with effort, recovery included."""
        agents = [one.caller for one in self._services.personas.all(LOCAL) if one.effort is not None]
        energies = {one.id: self._services.energy_of(one) for one in agents}
        return {id: float(energy["level"]) for id, energy in energies.items() if energy is not None}

    async def _serve_metrics(self, request: Request) -> Response:
        return Response(self._metrics.render(), media_type=CONTENT_TYPE)


async def _handle_http_error(request: Request, error: Exception) -> Response:
    """Answer unknown paths and methods."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status == 405:
        allowed = dict(getattr(error, "headers", None) or {})
        detail = f"{request.url.path} does not accept {request.method}; valid: {allowed.get('Allow', 'GET')}."
        return HttpProblem("method_not_allowed", detail, headers=allowed).to_response()
    there = "/api, /console, /docs, /health, /mcp, /metrics and /openapi.json"
    return HttpProblem("no_such_path", f"Unknown path {request.url.path[:200]}. The server has {there}.").to_response()


async def _handle_defect(request: Request, error: Exception) -> Response:
    log.error("a request failed with a defect", exc_info=error)
    return error_response(Broken(DEFECT))
