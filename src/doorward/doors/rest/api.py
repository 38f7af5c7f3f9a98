"""The REST API: all routes below `/api`, the OpenAPI document and the docs page."""

from __future__ import annotations

import difflib
import re
from typing import TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from doorward.commands.context import Services
from doorward.core.model import Outcome
from doorward.core.model import Request as Asked
from doorward.doors.console.login import ConsoleLoginEndpoints
from doorward.doors.console.stream import ConsoleStream
from doorward.doors.http.problems import HttpProblem
from doorward.doors.rest import request_reader
from doorward.doors.rest.agent import AgentEndpoint
from doorward.doors.rest.auth import AuthEndpoints
from doorward.doors.rest.command_routes import COMMAND_OPERATIONS
from doorward.doors.rest.commands import CommandEndpoints
from doorward.doors.rest.custom_routes import CUSTOM_OPERATIONS
from doorward.doors.rest.docs_page import DocsPage
from doorward.doors.rest.event_streams import StreamEndpoints
from doorward.doors.rest.gate_client import GateClient, json_response, outcome_response
from doorward.doors.rest.idempotency import IdempotencyKeys
from doorward.doors.rest.openapi import OpenApiDocument
from doorward.doors.rest.operation import PREFIX, CommandOperation, document_path
from doorward.doors.rest.resource import Handler, Resource
from doorward.doors.rest.rooms import AttachmentEndpoints, RoomStream
from doorward.gate.executions.notices import Watcher
from doorward.gate.gate import Gate
from doorward.gate.recipes.schema import PUBLISHED

R = TypeVar("R", Route, Mount)

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class RestApi:
    """The REST API; a server adds `routes` to its own."""

    def __init__(self, gate: Gate, services: Services) -> None:
        self._governed = GateClient(gate)
        self._registry = services.registry
        self._once = IdempotencyKeys(gate, services)
        own = self._custom_handlers(services)
        handlers: dict[str, dict[str, Handler]] = {}
        for one in CUSTOM_OPERATIONS:
            handlers.setdefault(one.path, {})[one.method] = own[one.id]
        for operation in COMMAND_OPERATIONS:
            handlers.setdefault(operation.path, {})[operation.method] = self._command_handler(operation)
        self._paths = sorted({document_path(path) for path in handlers})
        inner = [Route(path, Resource(methods)) for path, methods in handlers.items()]
        nowhere = Resource(dict.fromkeys(_METHODS, self._unknown_path))
        inner.append(Route("/{path:path}", nowhere))
        app = Starlette(routes=[_allow_line_breaks(route) for route in inner])
        app.router.redirect_slashes = False
        document = OpenApiDocument(services.registry)
        self.routes: list[BaseRoute] = [
            Route("/openapi.json", Resource({"GET": document.respond})),
            Route("/docs", Resource({"GET": DocsPage(document.content).respond})),
            Route(PREFIX, nowhere),
            _allow_line_breaks(Mount(PREFIX, app=app)),
        ]

    def _custom_handlers(self, services: Services) -> dict[str, Handler]:
        streams = StreamEndpoints(self._governed, services)
        asking, auth = (
            CommandEndpoints(self._governed, streams, self._once, services.index),
            AuthEndpoints(services.accounts),
        )
        room, files = (
            RoomStream(self._governed, services, streams.slots),
            AttachmentEndpoints(self._governed, self._once, services),
        )
        entering, telling = (
            ConsoleLoginEndpoints(self._governed, services),
            ConsoleStream(self._governed, streams, room, services),
        )
        return {
            "run": asking.run,
            "runCommand": asking.run_command,
            "agent": AgentEndpoint(self._governed, self._once, streams.slots).ai,
            "explain": asking.explain,
            "listCommands": asking.commands,
            "me": asking.me,
            "recipeSchema": _recipe_schema,
            "streamExecution": streams.execution,
            "streamEvents": streams.events,
            "streamRoom": room.stream,
            "typing": room.typing,
            "uploadFile": files.upload,
            "downloadFile": files.download,
            "register": auth.register,
            "login": auth.login,
            "refresh": auth.refresh,
            "logout": auth.logout,
            "consoleSession": entering.session,
            "consoleLogin": entering.login,
            "consoleLogout": entering.logout,
            "consoleStream": telling.stream,
        }

    def _command_handler(self, operation: CommandOperation) -> Handler:
        command = self._registry[operation.command]

        async def handle(request: Request) -> Response:
            asked, body = await self._governed.build_request(operation, command, request)

            async def outcome(asked: Asked, watch: Watcher | None = None) -> Outcome | None:
                return await self._governed.run(request, asked, watch)

            def shown(one: Outcome | None) -> Response:
                return outcome_response(one, created=operation.creates)

            if operation.method == "POST":
                return await self._once.respond(request, asked, body, outcome, shown)
            return shown(await outcome(asked))

        return handle

    async def _unknown_path(self, request: Request) -> Response:
        path = f"{PREFIX}/{request.path_params.get('path', '')}"[:200]
        near = difflib.get_close_matches(path, self._paths, n=3, cutoff=0.4) or self._paths[:3]
        raise HttpProblem(
            "no_such_path", f"Unknown path {path}. Similar paths: {', '.join(near)}. All paths are on /docs."
        )


def _allow_line_breaks(route: R) -> R:
    """Let the route match paths with line breaks, which a dot does not match by default."""
    route.path_regex = re.compile(route.path_regex.pattern.removesuffix("$") + r"\Z", re.DOTALL)
    return route


async def _recipe_schema(request: Request) -> Response:
    request_reader.read_query(request, [])
    return json_response(PUBLISHED)
