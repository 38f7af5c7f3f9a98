"""One path and its methods, with answers for other methods and for errors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from doorward.core.errors import DEFECT, Broken, DoorwardError
from doorward.doors.http import problems
from doorward.doors.http.problems import HttpProblem

log = logging.getLogger(__name__)

Handler = Callable[[Request], Awaitable[Response]]


class ResponseReady(Exception):
    """Ends the handling of a request with this response."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class Resource:
    """An ASGI application for one path."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = dict(handlers)
        if "GET" in handlers:
            self._handlers["HEAD"] = handlers["GET"]
        self._allow = ", ".join([*self._handlers, "OPTIONS"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._handle(request)
        if request.method == "HEAD":
            response = _without_body(response)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": self._allow})
        handler = self._handlers.get(request.method)
        try:
            if handler is None:
                raise HttpProblem(
                    "method_not_allowed",
                    f"{request.url.path[:200]} accepts {self._allow}; given {request.method[:20]}.",
                    headers={"Allow": self._allow},
                )
            return await handler(request)
        except ResponseReady as answered:
            return answered.response
        except HttpProblem as problem:
            return problem.to_response()
        except DoorwardError as error:
            return problems.error_response(error)
        except Exception:
            log.exception("a request failed with a defect")
            return problems.error_response(Broken(DEFECT))


def _without_body(response: Response) -> Response:
    """The response's head only. A streamed response has no Content-Length."""
    head = Response(status_code=response.status_code, background=response.background)
    head.raw_headers = [pair for pair in response.raw_headers if pair[0] != b"transfer-encoding"]
    return head
