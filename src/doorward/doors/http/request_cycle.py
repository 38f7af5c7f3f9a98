"""One request and its response on a connection, as the ASGI application sees them, with flow control."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Hashable
from typing import Any

from starlette.types import Scope, Send
from uvicorn._types import ASGIReceiveEvent, HTTPScope
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from doorward.core.byte_budget import ByteAccount

_ACCOUNT = "doorward.account"
"""Where the state of a scope holds the account of the request's bytes."""


class HoldableFlow(FlowControl):
    """Flow control that keeps reading paused while it is held, even when uvicorn resumes it."""

    held = False

    def hold(self) -> None:
        self.held = True
        self.pause_reading()

    def release(self) -> None:
        self.held = False
        self.resume_reading()

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


class RequestAccount(ByteAccount):
    """The bytes of one request. Once its sender is authenticated, its connection keeps its place."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Any) -> None:
        super().__init__(connection.server_state.budget, connection.give_way)
        self._connection = connection
        self.caller = connection.server_state.owner

    def authenticate(self, caller: Hashable) -> None:
        super().authenticate(caller)
        self._connection.keep_place()


def authenticate_sender(scope: Scope, caller: Hashable) -> None:
    """Count a request for its caller, now that a door has authenticated it. Raises TooFast if it has too many bytes."""
    account = scope.get("state", {}).get(_ACCOUNT)
    if account is not None:
        account.authenticate(caller)


class RequestCycle(RequestResponseCycle):
    access_log = False
    disconnected = False
    more_body = True
    response_started = False
    response_complete = False
    chunked_encoding: bool | None = None
    expected_content_length = 0
    waiting_for_100_continue = False
    complete_body: bytes | None = None
    """The body of a request that arrived in one piece, until the application receives it."""

    def __init__(self, connection: Any, scope: HTTPScope, keep_alive: bool) -> None:
        """Set only the attributes that differ between requests; the class holds the others."""
        self.scope = scope
        self.account = scope["state"][_ACCOUNT] = RequestAccount(connection)
        self.transport = connection.transport
        self.flow = connection.flow
        self.logger = connection.logger
        self.default_headers = connection.server_state.default_headers
        self.on_response = connection.on_response_complete
        self.keep_alive = keep_alive

    @functools.cached_property
    def message_event(self) -> asyncio.Event:  # type: ignore[override]
        """Set when there is something new for the application. Created on first use."""
        return asyncio.Event()

    @functools.cached_property
    def body(self) -> bytearray:  # type: ignore[override]
        """Received parts of a body that the application has not read yet."""
        return bytearray()

    def drop(self) -> None:
        """Disconnect the application, and drop what it has not read."""
        if not self.response_complete:
            self.disconnected = True
            self.message_event.set()
        self.body.clear()
        self.complete_body = None
        self.account.release()

    async def receive(self) -> ASGIReceiveEvent:
        if self.complete_body is not None and not self.disconnected and not self.response_complete:
            body, self.complete_body = self.complete_body, None
            return {"type": "http.request", "body": body, "more_body": False}
        return await super().receive()

    def send_complete(self, status: int, fields: bytes, body: bytes) -> bool:
        """Send a complete response at once. Returns False, and sends nothing, when the usual path is needed.

        `fields` are header lines that the caller has checked. The content length is added.
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
        if "message_event" in self.__dict__:
            self.message_event.set()
        self.on_response()
        return True


def send_complete_response(send: Send, status: int, fields: bytes, body: bytes) -> bool:
    """Send a complete response through an unwrapped ASGI `send`. Returns False when the usual path is needed."""
    cycle = getattr(send, "__self__", None)
    return type(cycle) is RequestCycle and cycle.send_complete(status, fields, body)
