"""Accepts connections, a bounded number at a time, and reads the head of the HTTP request that begins each."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

from doorward.sandbox.relay import LARGEST_HEAD

_HEAD_SECONDS = 30.0
_MOST_CONNECTIONS = 128

Serve = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Answers a connection whose request has this head; an empty one if the head is too long."""


class ConnectionListener:
    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def listen(self, sock: socket.socket) -> None:
        """Accept connections on this bound socket, which it closes."""
        self._server = await asyncio.start_server(self._accept, sock=sock, limit=LARGEST_HEAD)

    @property
    def is_listening(self) -> bool:
        return self._server is not None

    def close(self) -> None:
        """Stop listening and end every connection."""
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= _MOST_CONNECTIONS:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._handle(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            try:
                async with asyncio.timeout(_HEAD_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError:
                head = b""
            await self._serve(head, reader, writer)
        except (OSError, EOFError, TimeoutError):
            pass  # the other side closed the connection, or sent no request
        finally:
            writer.close()
