"""Parser callbacks of a connection: they check a request while it arrives, and build its ASGI scope."""

from __future__ import annotations

import urllib.parse
from collections import deque
from typing import TYPE_CHECKING

import httptools
from uvicorn._types import ASGI3Application, ASGIVersions, HTTPScope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from doorward.core.errors import DoorwardError
from doorward.doors.http import headers
from doorward.doors.http.problems import TOO_LARGE, UNSUPPORTED_CODING, problem_type
from doorward.doors.http.request_cycle import RequestCycle

if TYPE_CHECKING:
    from doorward.doors.http.server import ServerConnections

_ASGI: ASGIVersions = {"version": "3.0", "spec_version": "2.3"}
_CHECKED_HEADERS = frozenset({b"expect", b"content-length", b"transfer-encoding"})


class RequestParser(HttpToolsProtocol):
    """The part of a connection that the HTTP parser calls."""

    server_state: ServerConnections
    cycle: RequestCycle
    pipeline: deque[tuple[RequestCycle, ASGI3Application]]  # type: ignore[assignment]

    _wait_started = 0.0
    """When the current wait began."""
    _in_head = True
    _head_bytes = 0
    _in_body = False
    _body_bytes = 0
    _announced = 0
    """The Content-Length of the newest request."""
    _chunked = False
    _refusal: headers.HeadFault | None = None
    _running: RequestCycle | None = None
    """The request being answered. `cycle` is the newest request received."""

    def _start_or_queue(self, cycle: RequestCycle, before: RequestCycle | None) -> None:
        raise NotImplementedError

    def on_message_begin(self) -> None:
        if self._refusal is not None:
            return
        if not self._in_head:
            self._in_head = True
            self._head_bytes = 0
            if self._running is None:
                self._wait_started = self.loop.time()
        self._chunked = False
        self._announced = 0
        self.url = b""
        self.expect_100_continue = False
        self.headers = headers.HeaderFields()

    def on_url(self, url: bytes) -> None:
        if self._refusal is None:
            self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head or self._refusal is not None:
            return  # a trailer field; it must not pass for a checked header field
        name = name.lower()
        if name in _CHECKED_HEADERS:
            self._check_header(name, value)
        self.headers.append((name, value))

    def _check_header(self, name: bytes, value: bytes) -> None:
        if name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"
        elif name == b"transfer-encoding":
            if self._chunked or value.lower() != b"chunked":
                self._refusal = UNSUPPORTED_CODING, "Transfer-Encoding must be `chunked`, given once."
            self._chunked = True
        else:
            self._announced = int(value)
            if self._announced > self.server_state.largest_body:
                self._refusal = self._body_too_large()

    def on_headers_complete(self) -> None:
        version = self.parser.get_http_version()
        if self._refusal is None:
            most = self.server_state.limits.largest_head
            self._refusal = headers.find_fault(self.url, self.headers, version, self._chunked, most)
        if self._refusal is not None:
            return
        self._in_head = False
        self._in_body = True
        self._head_bytes = self._body_bytes = 0
        if self._running is None:
            self._wait_started = self.loop.time()
        before = self.cycle
        stays = version != "1.0" and self.parser.should_keep_alive() and not self.parser.should_upgrade()
        self.cycle = cycle = RequestCycle(self, self._build_scope(version), stays)
        cycle.waiting_for_100_continue = self.expect_100_continue
        self._start_or_queue(cycle, before)

    def _build_scope(self, version: str) -> HTTPScope:
        target = httptools.parse_url(self.url)
        path = target.path.decode("ascii")
        client, scheme = self.client, self.scheme or "http"
        proxies = self.server_state.proxies
        if client is not None and proxies.trusts(client[0]):
            scheme = "https" if proxies.scheme(client[0], self.headers, scheme) == "https" else "http"
            client = (proxies.client_address(client[0], self.headers), client[1])
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "server": self.server,
            "client": client,
            "scheme": scheme,
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
        if self._body_bytes > self.server_state.largest_body:
            self._refusal = self._body_too_large()
        elif self.cycle.account.caller is None and self._body_bytes > self.server_state.budget.strangers:
            most = self.server_state.budget.strangers
            self._refusal = TOO_LARGE, f"Without valid credentials a request body may have at most {most} bytes."
        elif not self.cycle.response_complete:
            self._count_bytes(len(body))
            super().on_body(body)

    def _count_bytes(self, size: int) -> None:
        """Count bytes of the newest request, or refuse it when the budget for such bytes is used up."""
        try:
            self.cycle.account.add(size)
        except DoorwardError as error:
            self._refusal = problem_type(error.code), error.message

    def on_message_complete(self) -> None:
        if self._refusal is not None:
            return
        self._in_body = False
        super().on_message_complete()

    def _body_too_large(self) -> headers.HeadFault:
        return TOO_LARGE, f"A request body may have at most {self.server_state.largest_body} bytes."
