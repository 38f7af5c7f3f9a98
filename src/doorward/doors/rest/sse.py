"""Server-sent events: streams with keep-alive comments that end when the client leaves or stops reading."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from doorward.doors.rest import problems
from doorward.doors.rest.reading import EVENT_STREAM
from doorward.errors import Broken, DoorwardError, Overloaded
from doorward.executions.notices import Notice
from doorward.model import Caller

log = logging.getLogger(__name__)

KEEP_ALIVE = 15.0
"""Seconds of silence after which a keep-alive comment is sent."""
_LONGEST_STALL = 30.0
"""Seconds after which a client that reads nothing is dropped."""
_COMMENT = b": waiting\n\n"
_encode = msgspec.json.Encoder().encode

Source = Callable[[], AsyncGenerator[bytes, None]]


def framed(name: str, data: Any, id: str = "") -> bytes:
    """Encode one event. Encoded JSON has no line breaks, so it is one data line."""
    return with_head(name, id, _encode(data))


def with_head(name: str, id: str, data: bytes) -> bytes:
    """Encode one event whose data is encoded JSON."""
    head = f"event: {name}\nid: {id}\ndata: " if id else f"event: {name}\ndata: "
    return head.encode() + data + b"\n\n"


def notice(one: Notice) -> bytes:
    return framed(str(one.__struct_config__.tag), one)


def problem(error: DoorwardError) -> bytes:
    return framed("error", {"type": "error", "code": error.code, "detail": error.message, "hint": error.hint})


Principal = tuple[str, str, str, str]


def principal_of(caller: Caller) -> Principal:
    """The identity of a caller, independent of its credential."""
    return (caller.tenant, caller.id, caller.kind, caller.on_behalf_of)


class Places:
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
    def place(self, who: Principal) -> Iterator[None]:
        self._taken[who] += 1
        try:
            yield
        finally:
            self._taken[who] -= 1
            if not self._taken[who]:
                del self._taken[who]


class EventStream(Response):
    """Streams a source until it ends, the client leaves, or the client stops reading."""

    def __init__(
        self, source: Source, places: Places, who: Principal, form: str = EVENT_STREAM, nothing: bytes = _COMMENT
    ) -> None:
        """`form` is the media type, and `nothing` its keep-alive text."""
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}, media_type=form)
        del self.headers["content-length"]
        self._nothing = nothing
        self._source = source
        self._places = places
        self._who = who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._places.refusal(self._who)
        if refusal is not None:
            await problems.of_error(refusal)(scope, receive, send)
            return
        events = self._source()
        with self._places.place(self._who):
            try:
                async with _Attended(receive, send, self._nothing) as client:
                    await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                    while piece := await _next(events):
                        await client.take(piece)
                    await client.take(b"")
            except TimeoutError:
                log.info("dropped a client that read nothing")
            finally:
                await events.aclose()


class _Attended:
    """The client of a stream. When it disconnects, the task that serves it is cancelled.

    Hundreds may follow one room, so sending a piece must be cheap: no task or `wait` for each piece. One task watches
    for a disconnect, and one timer sends keep-alives.
    """

    def __init__(self, receive: Receive, send: Send, nothing: bytes) -> None:
        self._receive = receive
        self._send = send
        self._nothing = nothing
        self._loop = asyncio.get_running_loop()
        self._heard = self._loop.time()
        self._over = self._gone = False
        self._commenting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> _Attended:
        self._serving = asyncio.current_task()
        self._watching = self._loop.create_task(self._watch())
        self._pulse = self._loop.call_later(KEEP_ALIVE, self._beat)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        """Suppress the cancellation that a disconnect causes."""
        self._over = True
        self._pulse.cancel()
        self._watching.cancel()
        if self._commenting is not None:
            self._commenting.cancel()
        return bool(self._gone and kind is asyncio.CancelledError and self._serving and not self._serving.uncancel())

    async def take(self, piece: bytes) -> None:
        """Send a piece; an empty one ends the stream."""
        if self._commenting is not None:
            await asyncio.wait([self._commenting])
            self._commenting = None
        self._heard = self._loop.time()
        await self._sent(piece)

    async def _sent(self, piece: bytes) -> None:
        async with asyncio.timeout(_LONGEST_STALL):
            await self._send({"type": "http.response.body", "body": piece, "more_body": bool(piece)})

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._leave()

    def _leave(self) -> None:
        if not (self._over or self._gone) and self._serving is not None:
            self._gone = True
            self._serving.cancel()

    def _beat(self) -> None:
        """Send a keep-alive after a time of silence."""
        silent = self._loop.time() - self._heard
        if silent >= KEEP_ALIVE and (self._commenting is None or self._commenting.done()):
            self._commenting = self._loop.create_task(self._comment())
            silent = 0.0
        self._pulse = self._loop.call_later(max(KEEP_ALIVE - silent, 0.001), self._beat)

    async def _comment(self) -> None:
        try:
            self._heard = self._loop.time()
            await self._sent(self._nothing)
        except TimeoutError:
            log.info("dropped a client that read nothing")
            self._leave()


async def _next(events: AsyncGenerator[bytes, None]) -> bytes:
    """The next piece; empty at the end. If the source fails, the last piece is an error event."""
    try:
        return await anext(events)
    except StopAsyncIteration:
        return b""
    except DoorwardError as error:
        return problem(error)
    except Exception:
        log.exception("a stream failed with a defect")
        return problem(Broken("This stream failed because of a defect in Doorward. The log has the details."))
