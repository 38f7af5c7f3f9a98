"""The reply to one HTTP request: plain JSON for a single message, else a stream of server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator

from starlette.types import Send

from doorward.doors.cycle import at_once
from doorward.doors.mcp.sessions import Principal
from doorward.errors import Overloaded
from doorward.settings import Mcp
from doorward.wire import sse
from doorward.wire.ids import Id

log = logging.getLogger(__name__)

SLOWEST = 60.0
"""Seconds in which a client must read what is sent. A slower client counts as disconnected."""

_JSON = (b"content-type", b"application/json")
_JSON_FIELD = b"content-type: application/json\r\n"
_EVENTS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class Streams:
    """Limits how many replies are streams at once, in total and per caller."""

    def __init__(self, settings: Mcp) -> None:
        self._settings = settings
        self._each: Counter[Principal] = Counter()
        self._total = 0

    @contextlib.contextmanager
    def place(self, principal: Principal) -> Iterator[None]:
        most, each = self._settings.streams, self._settings.streams_each
        if self._total >= most or self._each[principal] >= each:
            raise Overloaded(f"Too many open streams; at most {each} per caller and {most} in total.", retry_after=1.0)
        self._total += 1
        self._each[principal] += 1
        try:
            yield
        finally:
            self._total -= 1
            self._each[principal] -= 1
            if not self._each[principal]:
                del self._each[principal]


class Reply:
    """A reply that is being written. It becomes a stream with its first message that is not the last."""

    __slots__ = ("_keep_alive", "_lock", "_place", "_send", "_streams", "_waking", "headers", "id", "open", "who")

    def __init__(self, send: Send, streams: Streams, keep_alive: float) -> None:
        self._send = send
        self._streams = streams
        self._keep_alive = keep_alive
        self.open = True
        """Whether the client accepts a stream."""
        self.who: Callable[[], Principal] = _nobody
        """The caller that the stream counts for; called only when the reply becomes a stream."""
        self.id: Id | None = None
        """The id of the answered request, once it is known."""
        self.headers: list[tuple[bytes, bytes]] = []
        """Additional response headers."""
        self._lock: asyncio.Lock | None = None
        self._place: contextlib.AbstractContextManager[None] | None = None
        self._waking: asyncio.Task[None] | None = None

    async def send(self, frame: bytes) -> None:
        """Send a message before the last. It is dropped if the client accepts no stream or no stream is free."""
        if self._lock is None and self.open:
            try:
                await self.begin()
            except Overloaded:
                self.open = False
        if self.open:
            await self._write(sse.event(frame))

    async def begin(self) -> None:
        """Become a stream; Overloaded if no stream is free or the client does not accept one."""
        if self._lock is not None:
            return
        if not self.open:
            raise Overloaded("The reply to this request is a stream, but the client does not accept streams.")
        self._place = self._streams.place(self.who())
        self._place.__enter__()
        self._lock = asyncio.Lock()
        start = {"type": "http.response.start", "status": 200, "headers": [*_EVENTS, *self.headers]}
        async with self._lock:
            await self._send(start)
        self._waking = asyncio.create_task(self._stay_awake())

    async def finish(self, frame: bytes, status: int = 200) -> None:
        """Send the last message."""
        if self._lock is not None:
            if self.open:
                await self._write(sse.event(frame))
            await self.end()
            return
        if not self.headers and at_once(self._send, status, _JSON_FIELD, frame):
            return
        headers = [_JSON, (b"content-length", b"%d" % len(frame)), *self.headers]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": frame})

    async def bare(self, status: int) -> None:
        """Send a status without a message."""
        headers = [(b"content-length", b"0"), *self.headers]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": b""})

    async def end(self) -> None:
        """Close the stream. An abandoned stream is left open: the HTTP server below closes its connection."""
        if self._waking is not None:
            self._waking.cancel()
        if self._lock is not None and self.open:
            async with self._lock:
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def release(self) -> None:
        """Free the stream's place, however it ended."""
        if self._waking is not None:
            self._waking.cancel()
        if self._place is not None:
            self._place.__exit__(None, None, None)
            self._place = None

    async def _write(self, text: bytes) -> None:
        if self._lock is None:
            raise RuntimeError("begin the stream before writing to it")
        try:
            async with asyncio.timeout(SLOWEST), self._lock:
                await self._send({"type": "http.response.body", "body": text, "more_body": True})
        except TimeoutError:
            self.open = False
            log.warning("an MCP client does not read its stream; the stream is abandoned")

    async def _stay_awake(self) -> None:
        while True:
            await asyncio.sleep(self._keep_alive)
            await self._write(sse.KEEP_ALIVE)


def _nobody() -> Principal:
    return ("", "", "", "")
