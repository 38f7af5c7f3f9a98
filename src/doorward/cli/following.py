"""Follows one command from start to end. Ctrl-C cancels the execution, not only this program."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import httptools
import msgspec

from doorward.cli.live import Live
from doorward.errors import Unreachable
from doorward.executions.notices import Notice

_TICK = 0.125
_UNTIL_KNOWN = 1.0
"""Seconds that Ctrl-C waits for the execution's id; without one, the connection is closed instead."""
STOPPED = 130
"""Exit code after Ctrl-C."""

_NOTICES = frozenset({"started", "output", "progress", "logged", "asked", "step"})
_notice = msgspec.json.Decoder(Notice).decode


class Left(Exception):
    """The person stopped the command by closing the connection: before it started, or because cancelling failed."""


@contextlib.asynccontextmanager
async def attention(live: Live, stop: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Draw progress and handle Ctrl-C: the first one calls `stop`, a second one exits at once."""
    work = asyncio.current_task()
    if work is None:
        raise RuntimeError("attention() must run inside a task")
    stopping: list[asyncio.Task[None]] = []

    async def cancel() -> None:
        try:
            async with asyncio.timeout(_UNTIL_KNOWN):
                await live.known.wait()
        except TimeoutError:
            work.cancel()
        else:
            await stop()

    def interrupted() -> None:
        if stopping:
            os._exit(STOPPED)
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, lambda *_: os._exit(STOPPED))
        stopping.append(asyncio.ensure_future(cancel()))
        live.stop()

    async def tick() -> None:
        while True:
            await asyncio.sleep(_TICK)
            live.tick()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted)
    ticking = asyncio.ensure_future(tick())
    try:
        yield
    except asyncio.CancelledError:
        if stopping:
            raise Left from None
        raise
    finally:
        ticking.cancel()
        for task in stopping:
            await asyncio.wait([task])
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        live.rest()


async def follow(sock: socket.socket, body: bytes, live: Live, cancel: Callable[[str], bool]) -> dict[str, Any]:
    """Send a request to the running server, pass its notices to `live`, and return the last message.

    `cancel(execution)` asks the server to cancel it, on a separate connection. If that fails, closing this connection
    cancels it.
    """
    work = asyncio.current_task()
    reader, writer = await asyncio.open_unix_connection(sock=sock)

    async def stop() -> None:
        if not await asyncio.to_thread(cancel, live.execution) and work is not None:
            work.cancel()

    head = f"POST /api/run HTTP/1.1\r\nHost: doorward\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    try:
        async with attention(live, stop):
            writer.write(head.encode() + body)
            async for line in lines(reader):
                said = msgspec.json.decode(line)
                if said.get("type") not in _NOTICES:
                    return dict(said)
                live.notice(_notice(line))
            raise Unreachable(
                "The running server closed the connection before the outcome.",
                hint="To see whether it ran: doorward audit tail",
            )
    finally:
        writer.close()


async def lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the lines of an HTTP response body as they arrive. The last one may lack its newline."""
    body = _Body()
    parser = httptools.HttpResponseParser(body)
    while data := await reader.read(65_536):
        parser.feed_data(data)
        for line in body.lines():
            yield line
    if body.rest:
        yield bytes(body.rest)


class _Body:
    """Collects the body from an HTTP response parser."""

    def __init__(self) -> None:
        self.rest = bytearray()

    def on_body(self, data: bytes) -> None:
        self.rest += data

    def lines(self) -> Iterator[bytes]:
        while (end := self.rest.find(b"\n")) >= 0:
            line, self.rest = bytes(self.rest[:end]), self.rest[end + 1 :]
            yield line
