"""Server-sent events: streams with keep-alive, and the fan-out of each event to many followers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from doorward.core.errors import Broken, DoorwardError, Overloaded
from doorward.core.model import Caller
from doorward.doors.http import problems
from doorward.doors.rest.request_reader import EVENT_STREAM
from doorward.gate.executions.notices import Notice

log = logging.getLogger(__name__)

KEEP_ALIVE = 15.0
"""Seconds of silence after which a keep-alive comment is sent."""
_LONGEST_STALL = 30.0
"""Seconds after which a client that reads nothing is dropped."""
_KEEP_ALIVE_COMMENT = b": waiting\n\n"
_encode = msgspec.json.Encoder().encode

Source = Callable[[], AsyncGenerator[bytes, None]]


def encode_event(name: str, data: Any, id: str = "") -> bytes:
    """Encode one event. Encoded JSON has no line breaks, so it is one data line."""
    return encode_raw_event(name, id, _encode(data))


def encode_raw_event(name: str, id: str, data: bytes) -> bytes:
    """Encode one event whose data is encoded JSON."""
    head = f"event: {name}\nid: {id}\ndata: " if id else f"event: {name}\ndata: "
    return head.encode() + data + b"\n\n"


def encode_notice(one: Notice) -> bytes:
    return encode_event(str(one.__struct_config__.tag), one)


def encode_error(error: DoorwardError) -> bytes:
    return encode_event("error", {"type": "error", "code": error.code, "detail": error.message, "hint": error.hint})


Principal = tuple[str, str, str, str]


def principal_of(caller: Caller) -> Principal:
    """The identity of a caller, independent of its credential."""
    return (caller.tenant, caller.id, caller.kind, caller.on_behalf_of)


class StreamSlots:
    """Limits on open streams, in total and for each caller."""

    def __init__(self, most: int, each: int) -> None:
        self._most = most
        self._most_each = each
        self._taken: Counter[Principal] = Counter()

    def refusal(self, who: Principal) -> Overloaded | None:
        """The error for one more stream of this caller; None when it is allowed."""
        if self._taken[who] < self._most_each and self._taken.total() < self._most:
            return None
        return Overloaded(
            f"At most {self._most} streams may be open, {self._most_each} for each caller. Close one, or wait.",
            retry_after=5.0,
        )

    @contextlib.contextmanager
    def reserve(self, who: Principal) -> Iterator[None]:
        self._taken[who] += 1
        try:
            yield
        finally:
            self._taken[who] -= 1
            if not self._taken[who]:
                del self._taken[who]


class EventStreamResponse(Response):
    """Streams a source until it ends, the client leaves, or the client stops reading."""

    def __init__(
        self,
        source: Source,
        places: StreamSlots,
        who: Principal,
        form: str = EVENT_STREAM,
        nothing: bytes = _KEEP_ALIVE_COMMENT,
    ) -> None:
        """`form` is the media type, and `nothing` its keep-alive text."""
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}, media_type=form)
        del self.headers["content-length"]
        self._keep_alive = nothing
        self._source = source
        self._slots = places
        self._who = who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._slots.refusal(self._who)
        if refusal is not None:
            await problems.error_response(refusal)(scope, receive, send)
            return
        events = self._source()
        with self._slots.reserve(self._who):
            try:
                async with _StreamClient(receive, send, self._keep_alive) as client:
                    await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                    while piece := await _next_piece(events):
                        await client.deliver(piece)
                    await client.deliver(b"")
            except TimeoutError:
                log.info("dropped a client that read nothing")
            finally:
                await events.aclose()


class _StreamClient:
    """The client of a stream. When it disconnects, the task that serves it is cancelled.

    Hundreds may follow one room, so sending a piece must be cheap: no task or `wait` for each piece. One task watches
    for a disconnect, and one timer sends keep-alives.
    """

    def __init__(self, receive: Receive, send: Send, nothing: bytes) -> None:
        self._receive = receive
        self._send = send
        self._keep_alive = nothing
        self._loop = asyncio.get_running_loop()
        self._last_sent = self._loop.time()
        self._ended = self._gone = False
        self._keep_alive_task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> _StreamClient:
        self._serving_task = asyncio.current_task()
        self._watch_task = self._loop.create_task(self._watch())
        self._timer = self._loop.call_later(KEEP_ALIVE, self._check_silence)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        """Suppress the cancellation that a disconnect causes."""
        self._ended = True
        self._timer.cancel()
        self._watch_task.cancel()
        if self._keep_alive_task is not None:
            self._keep_alive_task.cancel()
        return bool(
            self._gone and kind is asyncio.CancelledError and self._serving_task and not self._serving_task.uncancel()
        )

    async def deliver(self, piece: bytes) -> None:
        """Send a piece; an empty one ends the stream."""
        if self._keep_alive_task is not None:
            await asyncio.wait([self._keep_alive_task])
            self._keep_alive_task = None
        self._last_sent = self._loop.time()
        await self._send_piece(piece)

    async def _send_piece(self, piece: bytes) -> None:
        async with asyncio.timeout(_LONGEST_STALL):
            await self._send({"type": "http.response.body", "body": piece, "more_body": bool(piece)})

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._leave()

    def _leave(self) -> None:
        if not (self._ended or self._gone) and self._serving_task is not None:
            self._gone = True
            self._serving_task.cancel()

    def _check_silence(self) -> None:
        """Send a keep-alive after a time of silence."""
        silent = self._loop.time() - self._last_sent
        if silent >= KEEP_ALIVE and (self._keep_alive_task is None or self._keep_alive_task.done()):
            self._keep_alive_task = self._loop.create_task(self._send_keep_alive())
            silent = 0.0
        self._timer = self._loop.call_later(max(KEEP_ALIVE - silent, 0.001), self._check_silence)

    async def _send_keep_alive(self) -> None:
        try:
            self._last_sent = self._loop.time()
            await self._send_piece(self._keep_alive)
        except TimeoutError:
            log.info("dropped a client that read nothing")
            self._leave()


async def _next_piece(events: AsyncGenerator[bytes, None]) -> bytes:
    """The next piece; empty at the end. If the source fails, the last piece is an error event."""
    try:
        return await anext(events)
    except StopAsyncIteration:
        return b""
    except DoorwardError as error:
        return encode_error(error)
    except Exception:
        log.exception("a stream failed with a defect")
        return encode_error(Broken("This stream failed because of a defect in Doorward. The log has the details."))


T = TypeVar("T")

_MAX_FRAMES = 200
_encode_data = msgspec.json.Encoder().encode


class EventFrame(NamedTuple):
    """One event with encoded data. A stream may send it under another name and id."""

    name: str
    id: str
    data: bytes

    @classmethod
    def create(cls, name: str, data: Any, id: str = "") -> EventFrame:
        return cls(name, id, _encode_data(data))

    def encode(self) -> bytes:
        return encode_raw_event(self.name, self.id, self.data)


class FrameCache(Generic[T]):
    """Cache of encoded events: each is encoded once for all followers."""

    def __init__(self, write: Callable[[T], EventFrame]) -> None:
        self._write = write
        self._frames: OrderedDict[int, tuple[T, EventFrame]] = OrderedDict()

    def get(self, one: T) -> EventFrame:
        found = self._frames.get(id(one))
        if found is not None and found[0] is one:
            return found[1]
        frame = self._write(one)
        self._frames[id(one)] = (one, frame)
        if len(self._frames) > _MAX_FRAMES:
            self._frames.popitem(last=False)
        return frame


class FollowerQueue(Generic[T]):
    """The bounded queue of one follower, so that a slow reader cannot use up memory."""

    def __init__(self, most: int, replaces: Callable[[T, T], bool] | None = None) -> None:
        """`replaces` tells whether a new item makes the one before it obsolete."""
        self._most = most
        self._replaces = replaces
        self._kept: list[T] = []
        self._loop = asyncio.get_running_loop()
        self._due = False
        self._woken: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.overflowed = False

    def put(self, one: T, within: float = 0.0) -> None:
        """Add an item. It may wait up to `within` seconds to be sent together with others."""
        if self._replaces is not None and self._kept and self._replaces(one, self._kept[-1]):
            self._kept[-1] = one
        elif len(self._kept) >= self._most:
            self.overflowed = True
        else:
            self._kept.append(one)
        if not within or self.overflowed:
            self._wake()
        elif self._timer is None and not self._due:
            self._timer = self._loop.call_later(within, self._wake)

    async def take(self, seconds: float) -> list[T]:
        """The queued items, as soon as they are due, and at the latest after `seconds`."""
        if not self._due:
            self._woken = self._loop.create_future()
            timer = self._loop.call_later(seconds, self._wake)
            try:
                await self._woken
            finally:
                timer.cancel()
                self._woken = None
        self._due = False
        self._forget_timer()
        taken, self._kept = self._kept, []
        return taken

    def close(self) -> None:
        """Stop the timer when the follower leaves."""
        self._forget_timer()

    def _wake(self) -> None:
        self._due = True
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
