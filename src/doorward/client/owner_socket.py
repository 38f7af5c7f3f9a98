"""Requests over the owner's socket. The operating system lets only the owner open it, so they carry no token."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncGenerator
from urllib.parse import urlencode

from doorward.client.effects import MAX_EVENT_BYTES, NoResponse, Reply, Send, is_event_stream
from doorward.core.wire.http1 import BadResponse, ResponseHead, ResponseParser, encode_request
from doorward.core.wire.lines import LineFramer
from doorward.core.wire.sse import EventTooLarge, SseEvent, SseParser

_AT_ONCE = 65_536
_CLOSED_EARLY = "it closed the connection before its response was complete"


async def request(sock: socket.socket, send: Send) -> Reply:
    """Send a request on a connected socket and return the whole response. Closes the socket."""
    async with open_response(sock, send) as response:
        return await response.read()


@contextlib.asynccontextmanager
async def open_response(sock: socket.socket, send: Send) -> AsyncGenerator[OwnerResponse, None]:
    """Send a request on a connected socket and give its response while it arrives. Closes the socket at the end."""
    reader, writer = await asyncio.open_unix_connection(sock=sock)
    try:
        query = urlencode(send.http_query())
        headers = {"Host": "doorward", "Connection": "close", **send.http_headers()}
        target = f"{send.path}?{query}" if query else send.path
        writer.write(encode_request(send.method, target, headers, send.body or b""))
        yield await _read_head(reader)
    finally:
        writer.close()


class OwnerResponse:
    """A response whose body is still arriving."""

    def __init__(self, head: ResponseHead, reader: asyncio.StreamReader, parser: ResponseParser) -> None:
        self._head = head
        self._reader = reader
        self._parser = parser

    @property
    def is_event_stream(self) -> bool:
        return is_event_stream(self._head.status, self._head.headers)

    async def read(self) -> Reply:
        """Return the whole response."""
        body = b"".join([piece async for piece in self._pieces()])
        if not self._parser.is_complete:
            raise NoResponse(_CLOSED_EARLY, sent=True)
        return Reply(self._head.status, self._head.headers, body)

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Yield the lines of the body, until the server closes the connection. The last one may lack its newline."""
        framer = LineFramer(sys.maxsize)
        async for piece in self._pieces():
            for line in framer.feed(piece):
                yield line
        if rest := framer.take_rest():
            yield rest

    async def events(self) -> AsyncGenerator[SseEvent, None]:
        """Yield the server-sent events of the body, with heartbeats, until the server closes the connection."""
        parser = SseParser(MAX_EVENT_BYTES)
        async for piece in self._pieces():
            try:
                for event in parser.feed(piece):
                    yield event
            except EventTooLarge as error:
                raise NoResponse(str(error), sent=True) from error

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        more = True
        while more:
            for piece in self._parser.take_body():
                yield piece
            more = not self._parser.is_complete and await _receive(self._reader, self._parser)


async def _read_head(reader: asyncio.StreamReader) -> OwnerResponse:
    parser = ResponseParser()
    while parser.head is None:
        if not await _receive(reader, parser):
            raise NoResponse(_CLOSED_EARLY, sent=True)
    return OwnerResponse(parser.head, reader, parser)


async def _receive(reader: asyncio.StreamReader, parser: ResponseParser) -> bool:
    """Parse the next bytes of a response; False at the end of the connection."""
    try:
        data = await reader.read(_AT_ONCE)
        if data:
            parser.feed(data)
    except (OSError, BadResponse) as error:
        raise NoResponse(str(error), sent=True) from error
    if not data:
        parser.feed_eof()
    return bool(data)
