"""The reply to one HTTP request: plain JSON for a single message, else a stream of server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from starlette.types import Receive, Send

from doorward.config.settings import McpSettings
from doorward.core.errors import Overloaded
from doorward.core.wire import http
from doorward.core.wire.ids import Id
from doorward.doors.http.request_cycle import send_complete_response
from doorward.doors.mcp.http_sessions import Principal

log = logging.getLogger(__name__)

WRITE_TIMEOUT = 60.0
"""Seconds in which a client must read what is sent. A slower client counts as disconnected."""

_JSON = (b"content-type", b"application/json")
_JSON_FIELD = b"content-type: application/json\r\n"
_EVENTS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class StreamLimiter:
    """Limits how many replies are streams at once, in total and per caller."""

    def __init__(self, settings: McpSettings) -> None:
        self._settings = settings
        self._each: Counter[Principal] = Counter()
        self._total = 0

    @contextlib.contextmanager
    def reserve(self, principal: Principal) -> Iterator[None]:
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


class HttpReply:
    """A reply that is being written. It becomes a stream with its first message that is not the last."""

    __slots__ = ("_keep_alive", "_lock", "_place", "_send", "_streams", "_waking", "headers", "id", "open", "who")

    def __init__(self, send: Send, streams: StreamLimiter, keep_alive: float) -> None:
        self._send = send
        self._streams = streams
        self._keep_alive = keep_alive
        self.open = True
        """Whether the client accepts a stream."""
        self.who: Callable[[], Principal] = _no_principal
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
            await self._write(http.encode_event(frame))

    async def begin(self) -> None:
        """Become a stream; Overloaded if no stream is free or the client does not accept one."""
        if self._lock is not None:
            return
        if not self.open:
            raise Overloaded("The reply to this request is a stream, but the client does not accept streams.")
        self._place = self._streams.reserve(self.who())
        self._place.__enter__()
        self._lock = asyncio.Lock()
        start = {"type": "http.response.start", "status": 200, "headers": [*_EVENTS, *self.headers]}
        async with self._lock:
            await self._send(start)
        self._waking = asyncio.create_task(self._send_keep_alives())

    async def finish(self, frame: bytes, status: int = 200) -> None:
        """Send the last message."""
        if self._lock is not None:
            if self.open:
                await self._write(http.encode_event(frame))
            await self.end()
            return
        if not self.headers and send_complete_response(self._send, status, _JSON_FIELD, frame):
            return
        headers = [_JSON, (b"content-length", b"%d" % len(frame)), *self.headers]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": frame})

    async def send_status(self, status: int) -> None:
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
            async with asyncio.timeout(WRITE_TIMEOUT), self._lock:
                await self._send({"type": "http.response.body", "body": text, "more_body": True})
        except TimeoutError:
            self.open = False
            log.warning("an MCP client does not read its stream; the stream is abandoned")

    async def _send_keep_alives(self) -> None:
        while True:
            await asyncio.sleep(self._keep_alive)
            await self._write(http.KEEP_ALIVE)


def _no_principal() -> Principal:
    return ("", "", "", "")


WATCH_AFTER = 0.1
"""Seconds, or up to twice as many, before a request is watched for a disconnect. Most requests end earlier, and cost no
task."""


class UnwatchedRequests:
    """The requests of one endpoint that are not watched yet. They share one timer, to keep each request cheap."""

    def __init__(self) -> None:
        self._new: set[DisconnectWatch] = set()
        self._older: set[DisconnectWatch] = set()
        self._armed = False

    def add(self, one: DisconnectWatch) -> None:
        self._new.add(one)
        if not self._armed:
            self._armed = True
            asyncio.get_running_loop().call_later(WATCH_AFTER, self._watch_older)

    def remove(self, one: DisconnectWatch) -> None:
        self._new.discard(one)
        self._older.discard(one)

    def _watch_older(self) -> None:
        for one in self._older:
            one.watch()
        self._older, self._new = self._new, set()
        self._armed = bool(self._older)
        if self._armed:
            asyncio.get_running_loop().call_later(WATCH_AFTER, self._watch_older)


class DisconnectWatch:
    """Cancels the task of a request when the client disconnects, and clears that cancellation at the end."""

    __slots__ = ("_carrier", "_listening", "_over", "_receive", "_waiting", "left")

    def __init__(self, receive: Receive, waiting: UnwatchedRequests, carrier: asyncio.Task[Any]) -> None:
        self._carrier = carrier
        self._receive = receive
        self._over = False
        self._listening: asyncio.Task[None] | None = None
        self._waiting = waiting
        self.left = False

    def __enter__(self) -> DisconnectWatch:
        self._waiting.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._over = True
        self._waiting.remove(self)
        if self._listening is not None:
            self._listening.cancel()
        if self.left:
            self._carrier.uncancel()
            return isinstance(error, asyncio.CancelledError)
        return False

    def watch(self) -> None:
        self._listening = asyncio.create_task(self._wait_for_disconnect())

    async def _wait_for_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._over:
            self.left = True
            self._carrier.cancel()
