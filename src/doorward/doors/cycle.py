"""One request and its answer on a connection, as an application sees them.

An answer that is whole at once leaves in one piece and costs no more than that; any other takes the usual way.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Send
from uvicorn._types import HTTPScope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle


class Cycle(RequestResponseCycle):
    def __init__(self, connection: Any, scope: HTTPScope, keep_alive: bool) -> None:
        super().__init__(
            scope=scope,
            transport=connection.transport,
            flow=connection.flow,
            logger=connection.logger,
            access_logger=connection.access_logger,
            access_log=False,
            default_headers=connection.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=connection.expect_100_continue,
            keep_alive=keep_alive,
            on_response=connection.on_response_complete,
        )

    def answer(self, status: int, fields: bytes, body: bytes) -> bool:
        """Answer with all of it; False, and nothing done, when it must go the usual way.

        `fields` are lines of the head, which the caller vouches for; the length is added to them.
        """
        if self.flow.write_paused or not self.keep_alive or self.response_started or self.disconnected:
            return False
        if self.scope["method"] == "HEAD":
            return False
        head = b"".join([b"%b: %b\r\n" % field for field in self.default_headers])
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(
            b"%b%b%bcontent-length: %d\r\n\r\n%b" % (STATUS_LINE[status], head, fields, len(body), body)
        )
        self.message_event.set()
        self.on_response()
        return True


def at_once(send: Send, status: int, fields: bytes, body: bytes) -> bool:
    """The same for an application that was given only a way to send, where that is a request's own and not wrapped."""
    cycle = getattr(send, "__self__", None)
    return type(cycle) is Cycle and cycle.answer(status, fields, body)
