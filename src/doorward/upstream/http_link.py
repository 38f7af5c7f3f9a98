"""One HTTP/1.1 client connection, with limits on everything that the server sends."""

from __future__ import annotations

import asyncio
import os
import re
import select
import ssl
from collections import deque
from collections.abc import Mapping
from typing import cast

from doorward.core.errors import Unreachable
from doorward.core.wire.http1 import BadResponse, InvalidHeader, ResponseHead, ResponseParser, encode_request

CONNECT_TIMEOUT = 10.0
_MAX_BUFFERED = 256 * 1024
"""Bytes of a body that are buffered before reading pauses."""
_IDLE = 4.0
"""Seconds that an idle connection is kept; servers commonly keep theirs for five."""
_LONGEST_IDLE = 60.0
_LIFETIME = re.compile(r"timeout=(\d{1,6})")


class HttpLink(asyncio.Protocol):
    """Carries one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._parser: ResponseParser | None = None
        self._head: asyncio.Future[ResponseHead] | None = None
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._problem: Unreachable | None = None
        self._held = False
        self._until = 0.0
        self.where = ""
        """The server's origin, for messages."""

    @property
    def reusable(self) -> bool:
        """Whether the connection can carry another request."""
        transport = self._transport
        if not self.is_complete or transport is None or transport.is_closing() or self._problem is not None:
            return False
        return self._loop.time() < self._until and not _has_pending_data(transport)

    @property
    def is_complete(self) -> bool:
        """Whether the response is complete."""
        return self._parser is not None and self._parser.is_complete

    async def request(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> ResponseHead:
        """Send a request and wait for the response's head. If this is cancelled, close the link."""
        transport = self._transport
        if transport is None or self._problem is not None:
            raise self._problem or Unreachable(f"The server at {self.where} could not be reached.")
        try:
            message = encode_request(method, target, headers, body)
        except InvalidHeader as error:
            raise Unreachable(
                f"The header {str(error)[:60]!r} for {self.where} has characters that are invalid in HTTP."
            ) from error
        self._parser = ResponseParser()
        self._head = self._loop.create_future()
        self._pieces.clear()
        self._waiting = 0
        transport.write(message)
        if self._writer is not None:
            await asyncio.shield(self._writer)
        return await self._head

    async def read(self) -> bytes:
        """The next bytes of the body; empty at the end."""
        while not self._pieces:
            if self.is_complete:
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
        parser = self._parser
        if parser is None or self.is_complete:
            self._fail("it sent data without a request")
            return
        problem = ""
        try:
            parser.feed(data)
        except BadResponse as error:
            problem = str(error)
        self._take_parsed(parser)
        if problem:
            self._fail(problem)

    def eof_received(self) -> bool:
        if self._parser is not None:
            self._parser.feed_eof()
            self._wake()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)
        if not self.is_complete:
            self._fail("it closed the connection before its response was complete")

    def pause_writing(self) -> None:
        self._writer = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)
        self._writer = None

    def _take_parsed(self, parser: ResponseParser) -> None:
        if parser.head is not None and self._head is not None and not self._head.done():
            self._head.set_result(parser.head)
        for piece in parser.take_body():
            self._pieces.append(piece)
            self._waiting += len(piece)
        if parser.is_complete:
            self._until = self._loop.time() + _idle_seconds(parser)
        elif not self._held and self._waiting > _MAX_BUFFERED and self._transport is not None:
            self._held = True
            self._transport.pause_reading()
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


def _idle_seconds(parser: ResponseParser) -> float:
    """Seconds that the connection may be kept after this response."""
    if parser.head is None or not parser.keep_alive:
        return 0.0
    lifetime = _LIFETIME.search(parser.head.headers.get("keep-alive", ""))
    return min(float(lifetime[1]) - 1.0, _LONGEST_IDLE) if lifetime else _IDLE


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
