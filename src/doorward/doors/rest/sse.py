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
    head = f"event: {name}\nid: {id}\n" if id else f"event: {name}\n"
    return head.encode() + b"data: " + _encode(data) + b"\n\n"


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

    media_type = EVENT_STREAM

    def __init__(self, source: Source, places: Places, who: Principal) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._source = source
        self._places = places
        self._who = who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._places.refusal(self._who)
        if refusal is not None:
            await problems.of_error(refusal)(scope, receive, send)
            return
        events = self._source()
        leaving = asyncio.ensure_future(_left(receive))
        coming: asyncio.Future[bytes] | None = None
        with self._places.place(self._who):
            try:
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                while True:
                    coming = coming or asyncio.ensure_future(anext(events))
                    either: list[asyncio.Future[Any]] = [coming, leaving]
                    await asyncio.wait(either, timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
                    if leaving.done():
                        return
                    piece = _COMMENT
                    if coming.done():
                        piece, coming = _taken(coming), None
                    async with asyncio.timeout(_LONGEST_STALL):
                        await send({"type": "http.response.body", "body": piece, "more_body": bool(piece)})
                    if not piece:
                        return
            except TimeoutError:
                log.info("a client that took nothing was given up")
            finally:
                leaving.cancel()
                if coming is not None:
                    coming.cancel()
                    await asyncio.wait({coming})
                await events.aclose()


def _taken(coming: asyncio.Future[bytes]) -> bytes:
    """What came; nothing at the end. A stream that breaks says so in its last words."""
    try:
        return coming.result()
    except StopAsyncIteration:
        return b""
    except DoorwardError as error:
        return problem(error)
    except Exception:
        log.exception("a stream broke")
        return problem(Broken("This stream failed because of a defect in Doorward; the log has the details."))


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
