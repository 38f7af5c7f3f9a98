"""HTTP connections with limits on time, size and unread output.

uvicorn parses requests well but sets few limits. The limits here apply to every route, before a route sees the request.
A connection has no timer of its own: the server checks all connections once a second.
"""

from __future__ import annotations

import asyncio

import httptools
from uvicorn._types import ASGI3Application

from doorward.core.errors import Overloaded
from doorward.doors.http import headers
from doorward.doors.http.problems import NOT_HTTP, TOO_MANY_CONNECTIONS, TOO_SLOW, ProblemType, problem_type
from doorward.doors.http.request_cycle import HoldableFlow, RequestCycle
from doorward.doors.http.request_parser import RequestParser

_MAX_PIPELINED = 8
"""Pipelined requests that may wait behind the current one; at this number reading pauses."""
_MAX_SINGLE = 8_192
"""Largest piece that is parsed at once because it seems to be a single request."""
_HEAD_SLICE, _BODY_SLICE = 1_024, 65_536
"""Bytes parsed at once. Few outside bodies, because a slice can hold many pipelined requests."""
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 64 * 1024 * 1024
"""Bytes discarded after a refusal. Closing at once could reset the connection before the client reads the answer."""
_GAVE_WAY = (
    "All connections are in use, and this one has sent no valid credentials, so it gives way to another client. "
    "Try again in a few seconds."
)


class ServerConnection(RequestParser):
    """A connection that is refused, timed out or closed when it exceeds a limit."""

    flow: HoldableFlow

    _discarding = False
    """Whether further input is discarded."""
    _discarded_bytes = 0
    _lingering = False
    _deferred = b""
    """Received bytes that are parsed when fewer requests wait."""
    _awaits_reader = False
    """Whether the next request waits until the client has read the earlier answers."""
    _unsent = 0
    _unsent_since = 0.0
    _head_cache: headers.HeadCache | None = None
    """Cache of earlier request heads; None until the first. The next request often begins with the same bytes."""

    # Transport callbacks.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._wait_started = self.loop.time()
        if not self.server_state.admit(self):
            self.transport = transport
            self._discarding = True
            self._send_problem(
                TOO_MANY_CONNECTIONS,
                f"All {self.server_state.max_connections} connections are in use. Try again in a few seconds.",
            )
            transport.close()
            return
        super().connection_made(transport)
        self.flow = HoldableFlow(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disconnect_requests()
        self.keep_place()
        super().connection_lost(exc)
        self._discarding = True
        self._deferred = b""
        self._head_cache = None

    def data_received(self, data: bytes) -> None:
        if self._discarding:
            self._discarded_bytes += len(data)
            if self._discarded_bytes > _LINGER_BYTES:
                self.transport.abort()
            return
        known = self._head_cache
        again = known.match(data) if known is not None and not self._in_head and not self._in_body else None
        if again is not None:
            self._accept_cached(again, data)
            if len(self.pipeline) > _MAX_PIPELINED:
                self.flow.hold()
            return
        if len(data) <= _MAX_SINGLE and data.count(b"\r\n\r\n") == 1:
            self._parse(data)
            return
        start = 0
        while start < len(data):
            end = start + self._slice_size()
            if not self._parse(data[start:end]):
                return
            start = end
            if len(self.pipeline) > _MAX_PIPELINED:
                self._defer(data[start:])
                return

    def _slice_size(self) -> int:
        """Bytes to parse next: no more than the rest of the body, so that a slice holds few further requests."""
        left = self._announced - self._body_bytes if self._in_body else 0
        return min(left, _BODY_SLICE) if left > _HEAD_SLICE else _HEAD_SLICE

    def _defer(self, data: bytes) -> None:
        """Parse these bytes later, and read no more until then. They count as bytes of the newest request."""
        self._deferred = data
        self.flow.hold()
        self._count_bytes(len(data))
        if self._refusal is not None:
            self._refuse(*self._refusal)

    def _parse(self, data: bytes) -> bool:
        """Parse a slice. Returns False when nothing after it may be parsed."""
        newest, in_body, body_bytes = self.cycle, self._in_body, self._body_bytes
        between = not in_body and not (self._in_head and self._head_bytes)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._discarding = True  # the rest is in a protocol that we do not speak
        except httptools.HttpParserError as error:
            if self._refusal is None:
                self._refusal = NOT_HTTP, f"The request is not valid HTTP: {_describe_parse_error(error)}."
        if self._refusal is not None:
            self._refuse(*self._refusal)
            return False
        if self._in_head:
            # The head's offset behind another request is unknown, and matters little within one slice.
            self._head_bytes += len(data) if self.cycle is newest and not in_body else 1
        elif self._in_body:
            # Trailer fields follow a body, and can be endless like header fields.
            self._head_bytes = self._head_bytes + len(data) if in_body and self._body_bytes == body_bytes else 0
        elif between and self.cycle is not newest and self.cycle.keep_alive and not self.expect_100_continue:
            self._head_cache = self._head_cache or headers.HeadCache()
            self._head_cache.add(data, self._body_bytes, self.cycle.scope)
        if self._head_bytes > self.server_state.limits.largest_head:
            self._refuse(*headers.head_too_large(self.server_state.limits.largest_head))
        return not self._discarding

    def _accept_cached(self, again: headers.CachedHead, data: bytes) -> None:
        """Accept a head equal to an earlier one without parsing it: the parser's result depends on its bytes alone."""
        if self._running is None:
            self._wait_started = self.loop.time()
        scope = again.scope.copy()
        scope["state"] = {}
        before = self.cycle
        self.cycle = cycle = RequestCycle(self, scope, True)
        cycle.complete_body = data[again.head :]
        cycle.more_body = False
        self._in_body = True
        self._count_bytes(len(cycle.complete_body))
        if self._refusal is not None:
            self._refuse(*self._refusal)
            return
        self._in_body = False
        self._start_or_queue(cycle, before)

    # Responses.

    def _start_or_queue(self, cycle: RequestCycle, before: RequestCycle | None) -> None:
        if before is None or before.response_complete:
            self._start_asgi_task(cycle, self.app)
        else:
            self.pipeline.appendleft((cycle, self.app))

    def _start_asgi_task(self, cycle: RequestCycle, app: ASGI3Application) -> None:  # type: ignore[override]
        self._running = cycle
        task = self.loop.create_task(self._run_app(cycle, app))
        self.tasks.add(task)

    async def _run_app(self, cycle: RequestCycle, app: ASGI3Application) -> None:
        """Run the application. This is cheaper than a callback at the end of the task."""
        try:
            await cycle.run_asgi(app)
        finally:
            self.tasks.discard(asyncio.current_task(self.loop))

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self._running is not None:
            self._running.account.release()
            self._running = None
        if self._lingering or self.transport.is_closing():
            return
        self._wait_started = self.loop.time()
        if not self.pipeline and not self.flow.held and self._is_body_unneeded():
            self._linger()
            return
        if self.transport.get_write_buffer_size():
            self.flow.hold()  # no further request until this answer is read
        elif self.flow.read_paused:
            self.flow.resume_reading()
        if self.pipeline or self.flow.held:
            self.server_state.queue_turn(self)

    def _is_body_unneeded(self) -> bool:
        """Whether the request was answered before it was complete, and much of it is missing."""
        return self._in_body and (
            self.expect_100_continue or not headers.is_nearly_complete(self.headers, self._body_bytes)
        )

    def take_turn(self) -> None:
        """Start the next pipelined request, or read on, once the client has read the answers so far."""
        if self._running is not None or self._lingering or self.transport.is_closing():
            return
        if self.transport.get_write_buffer_size():
            self._awaits_reader = True
            self.transport.set_write_buffer_limits(high=0)  # so that resume_writing means that all is sent
        elif self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self.flow.held:
            put_off, self._deferred = self._deferred, b""
            self.flow.release()
            self.data_received(put_off)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._awaits_reader:
            self._awaits_reader = False
            self.transport.set_write_buffer_limits()
            self.server_state.queue_turn(self)

    # Closing.

    def check_timeouts(self, now: float) -> None:
        """Close the connection if its client takes too long to send or to read."""
        limits = self.server_state.limits
        unsent = self.transport.get_write_buffer_size()
        if unsent:
            if unsent != self._unsent:
                self._unsent, self._unsent_since = unsent, now
            elif now - self._unsent_since > limits.unread_seconds:
                self._abort("unread")
            return
        self._unsent = 0
        waited = now - self._wait_started
        if self._lingering:
            if waited > _LINGER_SECONDS:
                self.transport.abort()
        elif self._running is not None:
            if self.flow.held and waited > limits.unread_seconds:
                self._abort("impatient")  # the client may be gone, which goes unnoticed while nothing is read
            elif self._in_body and waited > limits.body_seconds:
                detail = f"The body was incomplete after {limits.body_seconds:g} s; got {self._body_bytes} bytes."
                self._refuse(TOO_SLOW, detail)
        elif self.pipeline:
            return  # the next request waits for its turn
        elif self._in_body:
            if waited > _LINGER_SECONDS:
                self.transport.close()
        elif self._in_head:
            if waited > limits.head_seconds:
                self._refuse(TOO_SLOW, f"The request head was incomplete after {limits.head_seconds:g} s.")
        elif waited > limits.idle_seconds:
            self.transport.close()

    @property
    def is_streaming(self) -> bool:
        return self._running is not None and self._running.response_started

    def disconnect(self) -> None:
        """Close the connection from our side and cancel its running request."""
        self._discarding = True
        self._disconnect_requests()
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _abort(self, why: str) -> None:
        self.server_state.closed_reasons[why] += 1
        self.transport.abort()

    def _refuse(self, problem: ProblemType, detail: str) -> None:
        """Stop reading from this client, and answer with the problem unless a response has started."""
        self._discarding = True
        refused = self.cycle if self._in_body else None
        if refused is not None and self.pipeline and self.pipeline[0][0] is refused:
            self.pipeline.popleft()
            self.cycle.drop()
            self.cycle = self.pipeline[0][0] if self.pipeline else self._running or refused
        elif refused is None or refused is not self._running:
            refused = None
        self._in_body = False
        if self.pipeline or (self._running is not None and self._running is not refused):
            self.server_state.closed_reasons[problem.code] += 1
            self.cycle.keep_alive = False  # answer the earlier requests, then close
            self._deferred = b""
            self.flow.release()
            return
        started = refused is not None and refused.response_started
        self._disconnect_requests()
        if started:
            self._abort(problem.code)
        else:
            self._send_problem(problem, detail)
            self._linger()

    def _disconnect_requests(self) -> None:
        for cycle in (self._running, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None:
                cycle.drop()
        self.pipeline.clear()
        self._running = None
        if self.flow is not None:
            self.flow.resume_writing()

    def _send_problem(self, problem: ProblemType, detail: str) -> None:
        self.server_state.closed_reasons[problem.code] += 1
        self.transport.write(problem.encode_response(self.server_state.default_headers, detail))

    def give_way(self, error: Overloaded) -> None:
        """Drop the unauthenticated request, because its bytes are needed for others."""
        self.loop.call_soon(self._give_way, error)

    def _give_way(self, error: Overloaded) -> None:
        if not self._discarding and not self.transport.is_closing():
            self._refuse(problem_type(error.code), error.message)

    @property
    def is_idle(self) -> bool:
        """Whether no request has begun to arrive or is being answered."""
        arriving = self._in_body or (self._in_head and self._head_bytes)
        return self._running is None and not self.pipeline and not arriving

    def keep_place(self) -> None:
        """Keep the place in a full server, once a request's sender is authenticated."""
        self.server_state.strangers.pop(self, None)

    def evict(self) -> None:
        """Close this connection at once, because another client needs its place."""
        self.keep_place()
        self.connections.discard(self)
        self._discarding = True
        if self.is_idle or self.is_streaming:
            self.server_state.closed_reasons[TOO_MANY_CONNECTIONS.code] += 1
        else:
            self._send_problem(TOO_MANY_CONNECTIONS, _GAVE_WAY)
        self.disconnect()

    def _linger(self) -> None:
        """Close our side, and discard further input until the client notices."""
        self._discarding = self._lingering = True
        self._wait_started = self.loop.time()
        self._deferred = b""
        self.flow.release()
        if not self.transport.is_closing() and self.transport.can_write_eof():
            self.transport.write_eof()


def _describe_parse_error(error: httptools.HttpParserError) -> str:
    """The parser's message, which quotes nothing of the request."""
    if isinstance(error, httptools.HttpParserCallbackError):
        return "the request target cannot be parsed"
    return str(error).rstrip(".")
