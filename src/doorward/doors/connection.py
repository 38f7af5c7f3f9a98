"""One HTTP connection, and what it may cost: time for each part, size, and whether its client reads what it asked for.

The HTTP server that Doorward is built on reads requests well and sets few limits. These come on top, for every route at
once and before any of them sees the request. A connection holds no timer: all of them are looked at once a second.
"""

from __future__ import annotations

import asyncio
import urllib.parse
from typing import TYPE_CHECKING

import httptools
from uvicorn._types import ASGI3Application, ASGIVersions, HTTPScope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from doorward.doors import heads
from doorward.doors.cycle import Cycle
from doorward.doors.flow import Flow
from doorward.doors.problem import MEDIA_TYPE, NO_SUCH_CODING, NOT_HTTP, TOO_LARGE, TOO_MANY, TOO_SLOW, Problem

if TYPE_CHECKING:
    from doorward.doors.connections import Connections

_MOST_WAITING = 32
"""How many requests may wait behind one that is being answered before no more are read."""
_SLICE = 8_192
"""How many bytes are read at once, since each few of them may be a request that waits."""
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 64 * 1024 * 1024
"""What is still read, and thrown away, of a client that was refused: closing at once would take the answer from it."""
_ASGI: ASGIVersions = {"version": "3.0", "spec_version": "2.3"}
_WEIGHED = frozenset({b"expect", b"content-length", b"transfer-encoding"})


class Connection(HttpToolsProtocol):
    """A connection that is refused, timed out or cut off when it costs more than one may."""

    server_state: Connections
    flow: Flow

    _since = 0.0
    """When it began to wait for whatever it waits for now."""
    _in_head = True
    _head_bytes = 0
    _in_body = False
    _body_bytes = 0
    _chunked = False
    _refusal: heads.Fault | None = None
    _deaf = False
    """Whether what still comes is thrown away."""
    _thrown_away = 0
    _lingers = False
    _put_off = b""
    """What came and is read when fewer requests wait."""
    _unsent = 0
    _unsent_since = 0.0
    _known: heads.Known | None = None
    """Heads that came before, since the next request may begin with the same bytes; None: there was none."""
    _running: RequestResponseCycle | None = None
    """The request that is being answered, while `cycle` is the newest that came."""

    # What the transport says.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._since = self.loop.time()
        if len(self.connections) >= self.server_state.most:
            self.transport = transport
            self._deaf = True
            self._say(TOO_MANY, f"All {self.server_state.most} connections are taken; try again in a few seconds.")
            transport.close()
            return
        super().connection_made(transport)
        self.flow = Flow(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        unanswered = [self._running, *(cycle for cycle, _ in self.pipeline)]
        self.pipeline.clear()
        super().connection_lost(exc)
        for cycle in unanswered:
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self._running = None
        self._deaf = True

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            self._thrown_away += len(data)
            if self._thrown_away > _LINGER_BYTES:
                self.transport.abort()
            return
        known = self._known
        again = known.begun(data) if known is not None and not self._in_head and not self._in_body else None
        if again is not None:
            self._repeated(again, data)
            if len(self.pipeline) > _MOST_WAITING:
                self.flow.hold()
            return
        for start in range(0, len(data), _SLICE):
            if not self._read(data[start : start + _SLICE] if len(data) > _SLICE else data):
                return
            if len(self.pipeline) > _MOST_WAITING:
                self._put_off = data[start + _SLICE :]
                self.flow.hold()
                return

    def _read(self, data: bytes) -> bool:
        """Read a slice; False when nothing that follows it shall be read."""
        newest, in_body, body_bytes = self.cycle, self._in_body, self._body_bytes
        between = not in_body and not (self._in_head and self._head_bytes)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._deaf = True  # whatever follows is in a protocol that we do not speak
        except httptools.HttpParserError as error:
            if self._refusal is None:
                self._refusal = NOT_HTTP, f"The request is not valid HTTP: {_why(error)}."
        if self._refusal is not None:
            self._refuse(*self._refusal)
            return False
        if self._in_head:
            # Where a head began behind another request is not known, and matters little in one slice.
            self._head_bytes += len(data) if self.cycle is newest and not in_body else 1
        elif self._in_body:
            # Fields may follow a body, and come without end like those before it.
            self._head_bytes = self._head_bytes + len(data) if in_body and self._body_bytes == body_bytes else 0
        elif between and self.cycle is not newest and self.cycle.keep_alive and not self.expect_100_continue:
            self._known = self._known or heads.Known()
            self._known.note(data, self._body_bytes, self.cycle.scope)
        if self._head_bytes > self.server_state.limits.largest_head:
            self._refuse(*heads.too_large(self.server_state.limits.largest_head))
        return not self._deaf

    def _repeated(self, again: heads.Again, data: bytes) -> None:
        """Take a request that differs from an earlier one in nothing but its body, as the parser would find it.

        What the parser makes of a head depends on nothing but its bytes, and it stands between two requests.
        """
        if self._running is None:
            self._since = self.loop.time()
        scope = again.scope.copy()
        scope["state"] = {}
        before = self.cycle
        self.cycle = cycle = Cycle(self, scope, True)
        cycle.whole = data[again.head :]
        cycle.more_body = False
        self._begin(cycle, before)

    # What the parser finds.

    def on_message_begin(self) -> None:
        if self._refusal is not None:
            return
        if not self._in_head:
            self._in_head = True
            self._head_bytes = 0
            if self._running is None:
                self._since = self.loop.time()
        self._chunked = False
        self.url = b""
        self.expect_100_continue = False
        self.headers = heads.Fields()

    def on_url(self, url: bytes) -> None:
        if self._refusal is None:
            self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head or self._refusal is not None:
            return  # a field behind the body, which must not pass for one that was looked at before it
        name = name.lower()
        if name in _WEIGHED:
            self._weigh(name, value)
        self.headers.append((name, value))

    def _weigh(self, name: bytes, value: bytes) -> None:
        if name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"
        elif name == b"transfer-encoding":
            if self._chunked or value.lower() != b"chunked":
                self._refusal = NO_SUCH_CODING, "The Transfer-Encoding of a request can only be `chunked`, given once."
            self._chunked = True
        elif int(value) > self.server_state.limits.largest_body:
            self._refusal = self._too_large()

    def on_headers_complete(self) -> None:
        version = self.parser.get_http_version()
        if self._refusal is None:
            most = self.server_state.limits.largest_head
            self._refusal = heads.fault(self.url, self.headers, version, self._chunked, most)
        if self._refusal is not None:
            return
        self._in_head = False
        self._in_body = True
        self._head_bytes = self._body_bytes = 0
        if self._running is None:
            self._since = self.loop.time()
        before = self.cycle
        stays = version != "1.0" and self.parser.should_keep_alive() and not self.parser.should_upgrade()
        self.cycle = cycle = Cycle(self, self._scope(version), stays)
        cycle.waiting_for_100_continue = self.expect_100_continue
        self._begin(cycle, before)

    def _begin(self, cycle: Cycle, before: RequestResponseCycle | None) -> None:
        if before is None or before.response_complete:
            self._start_asgi_task(cycle, self.app)
        else:
            self.pipeline.appendleft((cycle, self.app))

    def _scope(self, version: str) -> HTTPScope:
        """The request as applications see it."""
        target = httptools.parse_url(self.url)
        path = target.path.decode("ascii")
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme or "http",
            "method": self.parser.get_method().decode("ascii"),
            "root_path": "",
            "path": urllib.parse.unquote(path) if "%" in path else path,
            "raw_path": target.path,
            "query_string": target.query or b"",
            "headers": self.headers,
            "state": {},
        }

    def on_body(self, body: bytes) -> None:
        if self._refusal is not None:
            return
        self._body_bytes += len(body)
        if self._body_bytes > self.server_state.limits.largest_body:
            self._refusal = self._too_large()
            return
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._refusal is not None:
            return
        self._in_body = False
        super().on_message_complete()

    def _too_large(self) -> heads.Fault:
        return TOO_LARGE, f"The body of a request has at most {self.server_state.limits.largest_body} bytes."

    # How requests are answered.

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        task = self.loop.create_task(self._answered(cycle, app))
        self.tasks.add(task)

    async def _answered(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Let the application answer. A callback at the end of the task would cost more than this does."""
        try:
            await cycle.run_asgi(app)
        finally:
            self.tasks.discard(asyncio.current_task(self.loop))

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        self._running = None
        if self._lingers or self.transport.is_closing():
            return
        self._since = self.loop.time()
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self.flow.held:
            put_off, self._put_off = self._put_off, b""
            self.flow.release()
            self.loop.call_soon(self.data_received, put_off)
        elif self._in_body and (self.expect_100_continue or not heads.ends_soon(self.headers, self._body_bytes)):
            self._linger()  # the answer was there before the request was: nobody wants the rest of it

    # How connections end.

    def look(self, now: float) -> None:
        """Whether it has waited for too long, be it for its client to send or to read."""
        limits = self.server_state.limits
        unsent = self.transport.get_write_buffer_size()
        if unsent:
            if unsent != self._unsent:
                self._unsent, self._unsent_since = unsent, now
            elif now - self._unsent_since > limits.unread_seconds:
                self._end("unread")
            return
        self._unsent = 0
        waited = now - self._since
        if self._lingers:
            if waited > _LINGER_SECONDS:
                self.transport.abort()
        elif self._running is not None:
            if self.flow.held and waited > limits.unread_seconds:
                self._end("impatient")  # it may be gone, which nobody hears of while nothing is read
            elif self._in_body and waited > limits.body_seconds:
                detail = f"The body did not come whole within {limits.body_seconds:g} s; {self._body_bytes} bytes came."
                self._refuse(TOO_SLOW, detail)
        elif self._in_body:
            if waited > _LINGER_SECONDS:
                self.transport.close()
        elif self._in_head:
            if waited > limits.head_seconds:
                self._refuse(TOO_SLOW, f"The head of the request did not come within {limits.head_seconds:g} s.")
        elif waited > limits.idle_seconds:
            self.transport.close()

    @property
    def streams(self) -> bool:
        """Whether an answer has begun and goes on."""
        return self._running is not None and self._running.response_started

    def hang_up(self) -> None:
        """End it from our side, as if its client had left: what runs for it is cancelled."""
        self._deaf = True
        self._forget()
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _end(self, why: str) -> None:
        self.server_state.ended[why] += 1
        self.transport.abort()

    def _refuse(self, problem: Problem, detail: str) -> None:
        """Take nothing more from this client: answer with the problem, unless another answer is on its way."""
        self._deaf = True
        refused = self.cycle if self._in_body else None
        if refused is not None and self.pipeline and self.pipeline[0][0] is refused:
            self.pipeline.popleft()
            self.cycle = self.pipeline[0][0] if self.pipeline else self._running or refused
        elif refused is None or refused is not self._running:
            refused = None
        self._in_body = False
        if self._running is not None and self._running is not refused:
            self.server_state.ended[problem.code] += 1
            self.cycle.keep_alive = False  # the requests before it are answered, and then it ends
            self._put_off = b""
            self.flow.release()
            return
        started = refused is not None and refused.response_started
        self._forget()
        if started:
            self._end(problem.code)
        else:
            self._say(problem, detail)
            self._linger()

    def _forget(self) -> None:
        """Let whoever works for this client know that it is gone."""
        for cycle in (self._running, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()
        self._running = None
        if self.flow is not None:
            self.flow.resume_writing()

    def _say(self, problem: Problem, detail: str) -> None:
        self.server_state.ended[problem.code] += 1
        body = problem.body(detail)
        fields = [
            *self.server_state.default_headers,
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
        ]
        if problem.status == 503:
            fields.append((b"retry-after", b"5"))
        head = b"".join(b"%s: %s\r\n" % field for field in fields)
        self.transport.write(STATUS_LINE[problem.status] + head + b"\r\n" + body)

    def _linger(self) -> None:
        """Say that nothing more comes, and throw away what the client still sends until it has noticed."""
        self._deaf = self._lingers = True
        self._since = self.loop.time()
        self._put_off = b""
        self.flow.release()
        if not self.transport.is_closing() and self.transport.can_write_eof():
            self.transport.write_eof()


def _why(error: httptools.HttpParserError) -> str:
    """The parser's own words, which repeat nothing of the request."""
    if isinstance(error, httptools.HttpParserCallbackError):
        return "its target cannot be read"
    return str(error).rstrip(".")
