"""Server-sent events: an answer that goes on, kept alive, and ended when nobody reads it."""

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
"""Seconds of silence after which a comment says that the stream is still there."""
_LONGEST_STALL = 30.0
"""Seconds after which a client that takes nothing is given up."""
_COMMENT = b": waiting\n\n"
_encode = msgspec.json.Encoder().encode

Source = Callable[[], AsyncGenerator[bytes, None]]


def framed(name: str, data: Any, id: str = "") -> bytes:
    """One event. JSON has no line breaks of its own, so its text is one line of data."""
    return with_head(name, id, _encode(data))


def with_head(name: str, id: str, data: bytes) -> bytes:
    """One event whose data is JSON already."""
    head = f"event: {name}\nid: {id}\ndata: " if id else f"event: {name}\ndata: "
    return head.encode() + data + b"\n\n"


def notice(one: Notice) -> bytes:
    return framed(str(one.__struct_config__.tag), one)


def problem(error: DoorwardError) -> bytes:
    return framed("error", {"type": "error", "code": error.code, "detail": error.message, "hint": error.hint})


Principal = tuple[str, str, str, str]


def principal_of(caller: Caller) -> Principal:
    """Who a caller is, whatever credential it shows."""
    return (caller.tenant, caller.id, caller.kind, caller.on_behalf_of)


class Places:
    """How many streams there are at once, in all and for each caller, so that they cannot use up what everybody
    needs, and nobody what all others need."""

    def __init__(self, most: int, each: int) -> None:
        self._most = most
        self._most_each = each
        self._taken: Counter[Principal] = Counter()

    def refusal(self, who: Principal) -> Overloaded | None:
        """What one more is told when there are as many as there may be."""
        if self._taken[who] < self._most_each and self._taken.total() < self._most:
            return None
        return Overloaded(
            f"At most {self._most} streams are open at once, and {self._most_each} of one caller; close one, or wait.",
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
    """Sends what a source yields until it ends, the client leaves, or the client takes nothing any more."""

    def __init__(
        self, source: Source, places: Places, who: Principal, form: str = EVENT_STREAM, nothing: bytes = _COMMENT
    ) -> None:
        """`nothing` is what says, in that form, no more than that the stream is still there."""
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
                log.info("a client that took nothing was given up")
            finally:
                await events.aclose()


class _Attended:
    """A client while something is sent to it. When it leaves, whatever is done for it is cancelled.

    Hundreds may follow one room, so a piece costs neither a task nor a wait for several things at once: one task looks
    whether the client is still there, and one timer whether it has heard anything lately.
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
        """That the client is gone is an end like any other."""
        self._over = True
        self._pulse.cancel()
        self._watching.cancel()
        if self._commenting is not None:
            self._commenting.cancel()
        return bool(self._gone and kind is asyncio.CancelledError and self._serving and not self._serving.uncancel())

    async def take(self, piece: bytes) -> None:
        """Send a piece; an empty one is the end."""
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
        """After a while of silence, say that the stream is still there."""
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
            log.info("a client that took nothing was given up")
            self._leave()


async def _next(events: AsyncGenerator[bytes, None]) -> bytes:
    """What comes; nothing at the end. A stream that breaks says so in its last words."""
    try:
        return await anext(events)
    except StopAsyncIteration:
        return b""
    except DoorwardError as error:
        return problem(error)
    except Exception:
        log.exception("a stream broke")
        return problem(Broken("This stream failed because of a defect in Doorward; the log has the details."))
