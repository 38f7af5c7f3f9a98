"""Following one command from its start to its end, with Ctrl-C for the execution and not only for this program."""

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
"""Seconds that Ctrl-C waits to hear which execution it is about; what is unknown longer is left by hanging up."""
STOPPED = 130
"""The exit code of what a person stopped with Ctrl-C."""

_NOTICES = frozenset({"started", "output", "progress", "logged", "asked", "step"})
_notice = msgspec.json.Decoder(Notice).decode


class Left(Exception):
    """The person stopped it before it had begun, or it could not be stopped in any other way than by leaving."""


@contextlib.asynccontextmanager
async def attention(live: Live, stop: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """While this lasts, the line of progress moves, and Ctrl-C asks `stop`; a second one leaves at once."""
    work = asyncio.current_task()
    if work is None:
        raise RuntimeError("only a task can be attended to")
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
    """Ask the running server and tell `live` what it says; gives back its last word.

    `cancel(execution)` asks the server, on a connection of its own, to stop it. When that is refused, hanging up does.
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
            raise Unreachable("The running server hung up.", hint="Whether it ran is in: doorward audit tail")
    finally:
        writer.close()


async def lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The lines of an HTTP answer's body, as they come; the last one may lack its end."""
    body = _Body()
    parser = httptools.HttpResponseParser(body)
    while data := await reader.read(65_536):
        parser.feed_data(data)
        for line in body.lines():
            yield line
    if body.rest:
        yield bytes(body.rest)


class _Body:
    """Collects the body that a parser finds in an HTTP answer."""

    def __init__(self) -> None:
        self.rest = bytearray()

    def on_body(self, data: bytes) -> None:
        self.rest += data

    def lines(self) -> Iterator[bytes]:
        while (end := self.rest.find(b"\n")) >= 0:
            line, self.rest = bytes(self.rest[:end]), self.rest[end + 1 :]
            yield line
