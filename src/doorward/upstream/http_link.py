"""One HTTP/1.1 client connection, with limits on everything that the server sends."""

from __future__ import annotations

import asyncio
import os
import re
import select
import ssl
from collections import deque
from collections.abc import Mapping
from typing import Any, cast

import httptools
import msgspec

from doorward.core.errors import Unreachable

CONNECT_TIMEOUT = 10.0
_LARGEST_HEAD = 64 * 1024
_MAX_BUFFERED = 256 * 1024
"""Bytes of a body that are buffered before reading pauses."""
_IDLE = 4.0
"""Seconds that an idle connection is kept; servers commonly keep theirs for five."""
_LONGEST_IDLE = 60.0
_LIFETIME = re.compile(r"timeout=(\d{1,6})")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff\t]*")


class ResponseHead(msgspec.Struct, frozen=True):
    """Status and headers of a response. Header names are lower case; values of repeated headers are joined."""

    status: int
    headers: Mapping[str, str]


class HttpLink(asyncio.Protocol):
    """Carries one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._parser: Any = None
        self._head: asyncio.Future[ResponseHead] | None = None
        self._fields: dict[str, str] = {}
        self._head_bytes = 0
        self._interim = False
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._whole = False
        self._to_the_end = False
        self._problem: Unreachable | None = None
        self._held = False
        self._idle = 0.0
        self._until = 0.0
        self.where = ""
        """The server's origin, for messages."""

    @property
    def reusable(self) -> bool:
        """Whether the connection can carry another request."""
        transport = self._transport
        if not self._whole or transport is None or transport.is_closing() or self._problem is not None:
            return False
        return self._loop.time() < self._until and not _has_pending_data(transport)

    @property
    def is_complete(self) -> bool:
        """Whether the response is complete."""
        return self._whole

    async def request(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> ResponseHead:
        """Send a request and wait for the response's head. If this is cancelled, close the link."""
        transport = self._transport
        if transport is None or self._problem is not None:
            raise self._problem or Unreachable(f"The server at {self.where} could not be reached.")
        self._parser = httptools.HttpResponseParser(self)
        self._head = self._loop.create_future()
        self._fields, self._head_bytes, self._interim = {}, 0, False
        self._pieces.clear()
        self._waiting, self._whole, self._to_the_end = 0, False, False
        lines = [f"{method} {target} HTTP/1.1"]
        for name, value in headers.items():
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                raise Unreachable(f"The header {name[:60]!r} for {self.where} has characters that are invalid in HTTP.")
            lines.append(f"{name}: {value}")
        if body or method == "POST":
            lines.append(f"Content-Length: {len(body)}")
        transport.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        if self._writer is not None:
            await asyncio.shield(self._writer)
        return await self._head

    async def read(self) -> bytes:
        """The next bytes of the body; empty at the end."""
        while not self._pieces:
            if self._whole:
                return b""
            if self._problem is not None:
                raise self._problem
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        piece = self._pieces.popleft()
        self._waiting -= len(piece)
        if self._held and self._waiting < _MAX_BUFFERED // 2 and self._transport is not None:
            self._held = False
            self._transport.resume_reading()
        return piece

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # Callbacks of the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._whole:
            self._fail("it sent data without a request")
            return
        if self._head is not None and not self._head.done():
            self._head_bytes += len(data)
            if self._head_bytes > _LARGEST_HEAD + len(data):
                self._fail(f"the headers of its response are larger than {_LARGEST_HEAD} bytes")
                return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail("it requests another protocol than HTTP/1.1")
        except httptools.HttpParserError:
            self._fail("its response is not HTTP/1.1")

    def eof_received(self) -> bool:
        if self._to_the_end and self._head is not None and self._head.done():
            self._complete()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)
        if not self._whole:
            self._fail("it closed the connection before its response was complete")

    def pause_writing(self) -> None:
        self._writer = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)
        self._writer = None

    # Callbacks of the HTTP parser

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        self._fields[key] = f"{self._fields[key]}, {text}" if key in self._fields else text

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self._interim = 100 <= status < 200
        if self._interim:
            self._fields = {}
            return
        keeps = "content-length" in self._fields or "chunked" in self._fields.get("transfer-encoding", "")
        self._to_the_end = not keeps and status not in (204, 304)
        lifetime = _LIFETIME.search(self._fields.get("keep-alive", ""))
        idle = min(float(lifetime[1]) - 1.0, _LONGEST_IDLE) if lifetime else _IDLE
        self._idle = idle if self._parser.should_keep_alive() and not self._to_the_end else 0.0
        if self._head is not None and not self._head.done():
            self._head.set_result(ResponseHead(status, self._fields))

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)
        self._waiting += len(body)
        if not self._held and self._waiting > _MAX_BUFFERED and self._transport is not None:
            self._held = True
            self._transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
            return
        self._until = self._loop.time() + self._idle
        self._complete()

    def _complete(self) -> None:
        self._whole = True
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _fail(self, why: str) -> None:
        if self._problem is None:
            self._problem = Unreachable(f"The server at {self.where} cannot be used: {why}.")
        if self._head is not None and not self._head.done():
            self._head.set_exception(self._problem)
            self._head.exception()
        self._wake()
        self.close()


def _has_pending_data(transport: asyncio.Transport) -> bool:
    """Whether there is something to read on an idle connection: end-of-file, or unsolicited data.

    A request on a connection that is closing would be lost, and it would be unclear whether the server processed it.
    """
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))


async def open_link(origin: str, host: str, port: int, addresses: list[str], tls: ssl.SSLContext | None) -> HttpLink:
    """Connect to the first of these addresses that accepts. Names are not resolved again."""
    loop = asyncio.get_running_loop()
    why = "it has no address"
    for address in addresses:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                _, link = await loop.create_connection(
                    HttpLink, address, port, ssl=tls, server_hostname=host.strip("[]") if tls is not None else None
                )
        except TimeoutError:
            why = f"it did not answer within {CONNECT_TIMEOUT:g} seconds"
        except ssl.SSLCertVerificationError as error:
            why = f"its certificate is not valid ({error.verify_message})"
        except ssl.SSLError as error:
            why = f"the TLS handshake failed ({error.reason})"
        except OSError as error:
            why = os.strerror(error.errno).lower() if error.errno else "the connection failed"
        else:
            link.where = origin
            return link
    raise Unreachable(f"The server at {origin} could not be reached: {why}.")
