"""The REST API: all routes below `/api`, the OpenAPI document and the docs page."""

from __future__ import annotations

import difflib
import re
from typing import TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from doorward.backends.context import Services
from doorward.doors.console.entering import Entering
from doorward.doors.console.telling import Telling
from doorward.doors.rest.agent import Agent
from doorward.doors.rest.asking import Asking
from doorward.doors.rest.auth import Auth
from doorward.doors.rest.governed import Governed, answered, as_json
from doorward.doors.rest.once import Once
from doorward.doors.rest.openapi import Document
from doorward.doors.rest.operation import PREFIX, Operation, shown_path
from doorward.doors.rest.own import OWN
from doorward.doors.rest.page import Page
from doorward.doors.rest.problems import HttpProblem
from doorward.doors.rest.resource import Handler, Resource
from doorward.doors.rest.room_files import RoomFiles
from doorward.doors.rest.room_stream import RoomStream
from doorward.doors.rest.streams import Streams
from doorward.doors.rest.table import OPERATIONS
from doorward.executions.notices import Watch
from doorward.gate.gate import Gate
from doorward.model import Outcome
from doorward.model import Request as Asked
from doorward.recipes.schema import PUBLISHED

R = TypeVar("R", Route, Mount)

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class Api:
    """The REST API; a server adds `routes` to its own."""

    def __init__(self, gate: Gate, services: Services) -> None:
        self._governed = Governed(gate)
        self._registry = services.registry
        self._once = Once(gate, services)
        own = self._own(services)
        handlers: dict[str, dict[str, Handler]] = {}
        for one in OWN:
            handlers.setdefault(one.path, {})[one.method] = own[one.id]
        for operation in OPERATIONS:
            handlers.setdefault(operation.path, {})[operation.method] = self._of(operation)
        self._paths = sorted({shown_path(path) for path in handlers})
        inner = [Route(path, Resource(methods)) for path, methods in handlers.items()]
        nowhere = Resource(dict.fromkeys(_METHODS, self._nowhere))
        inner.append(Route("/{path:path}", nowhere))
        app = Starlette(routes=[_with_line_breaks(route) for route in inner])
        app.router.redirect_slashes = False
        document = Document(services.registry)
        self.routes: list[BaseRoute] = [
            Route("/openapi.json", Resource({"GET": document.answer})),
            Route("/docs", Resource({"GET": Page(document.content).answer})),
            Route(PREFIX, nowhere),
            _with_line_breaks(Mount(PREFIX, app=app)),
        ]

    def _own(self, services: Services) -> dict[str, Handler]:
        streams = Streams(self._governed, services)
        asking, auth = Asking(self._governed, streams, self._once, services.index), Auth(services.accounts)
        room, files = (
            RoomStream(self._governed, services, streams.places),
            RoomFiles(self._governed, self._once, services),
        )
        entering, telling = Entering(self._governed, services), Telling(self._governed, streams, room, services)
        return {
            "run": asking.run,
            "runCommand": asking.run_command,
            "agent": Agent(self._governed, self._once, streams.places).ai,
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

    def _of(self, operation: Operation) -> Handler:
        command = self._registry[operation.command]

        async def handle(request: Request) -> Response:
            asked, body = await self._governed.asked(operation, command, request)

            async def outcome(asked: Asked, watch: Watch | None = None) -> Outcome | None:
                return await self._governed.outcome(request, asked, watch)

            def shown(one: Outcome | None) -> Response:
                return answered(one, created=operation.creates)

            if operation.method == "POST":
                return await self._once.answer(request, asked, body, outcome, shown)
            return shown(await outcome(asked))

        return handle

    async def _nowhere(self, request: Request) -> Response:
        path = f"{PREFIX}/{request.path_params.get('path', '')}"[:200]
        near = difflib.get_close_matches(path, self._paths, n=3, cutoff=0.4) or self._paths[:3]
        raise HttpProblem(
            "no_such_path", f"Unknown path {path}. Similar paths: {', '.join(near)}. All paths are on /docs."
        )


def _with_line_breaks(route: R) -> R:
    """Let the route match paths with line breaks, which a dot does not match by default."""
    route.path_regex = re.compile(route.path_regex.pattern.removesuffix("$") + r"\Z", re.DOTALL)
    return route


async def _recipe_schema(request: Request) -> Response:
    return as_json(PUBLISHED)
