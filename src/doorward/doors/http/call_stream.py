"""Calls run for an HTTP client. If the client disconnects, the call is cancelled and recorded like any other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from doorward.core.errors import DEFECT, Broken
from doorward.core.model import Outcome
from doorward.gate.executions.notices import Notice, OutputNotice, ProgressNotice, Watcher

log = logging.getLogger(__name__)

JSON_LINES = "application/x-ndjson"
CLIENT_CLOSED = 499
"""The status when the client closed the connection before the answer (nginx's 499)."""
_encode = msgspec.json.Encoder().encode


T = TypeVar("T")


async def run_while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
    """Run `work`. Returns its result, or None when the client disconnected first, which cancels it."""
    working = asyncio.ensure_future(work)
    leaving = _cancel_on_disconnect(working, receive)
    try:
        await asyncio.wait([working])
        return None if working.cancelled() else working.result()
    finally:
        leaving.cancel()
        working.cancel()


class CallStreamResponse(Response):
    """A response in lines of JSON: notices while the call runs, then its outcome.

    The status is always 200, because it is sent before the outcome is known. The outcome tells how the call ended.
    """

    media_type = JSON_LINES

    def __init__(self, work: Callable[[Watcher], Coroutine[Any, Any, Outcome]]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        feed = NoticeBuffer()
        working = asyncio.ensure_future(self._work(feed.put))
        working.add_done_callback(lambda _: feed.close())
        leaving = _cancel_on_disconnect(working, receive)
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while lines := await feed.take():
                await send({"type": "http.response.body", "body": lines, "more_body": True})
            last = b"" if working.cancelled() else _encode_outcome(working)
            await send({"type": "http.response.body", "body": last, "more_body": False})
        finally:
            leaving.cancel()
            working.cancel()


class NoticeBuffer:
    """Buffers notices for a client. A slow client gets fewer, larger notices, but all of the output."""

    def __init__(self, frame: Callable[[Notice], bytes] | None = None) -> None:
        """`frame` encodes a notice; the default is a line of JSON."""
        self._frame = frame or _encode_line
        self._pending: list[Notice | _PendingOutput] = []
        self._more = asyncio.Event()
        self._closed = False

    def put(self, notice: Notice) -> None:
        last = self._pending[-1] if self._pending else None
        if isinstance(notice, OutputNotice):
            if isinstance(last, _PendingOutput) and last.stream == notice.stream:
                last.text += notice.text.encode()
            else:
                self._pending.append(_PendingOutput(notice))
        elif isinstance(notice, ProgressNotice) and isinstance(last, ProgressNotice):
            self._pending[-1] = notice
        else:
            self._pending.append(notice)
        self._more.set()

    def close(self) -> None:
        self._closed = True
        self._more.set()

    async def take(self) -> bytes:
        """Wait for notices and return all of them encoded; empty once the buffer is closed and drained."""
        while not self._pending and not self._closed:
            self._more.clear()
            await self._more.wait()
        taken, self._pending = self._pending, []
        return b"".join(self._frame(one.notice() if isinstance(one, _PendingOutput) else one) for one in taken)


class _PendingOutput:
    """Output that grows until it is taken."""

    __slots__ = ("stream", "text")

    def __init__(self, notice: OutputNotice) -> None:
        self.stream = notice.stream
        self.text = bytearray(notice.text.encode())

    def notice(self) -> OutputNotice:
        return OutputNotice(self.stream, self.text.decode())


def _cancel_on_disconnect(working: asyncio.Future[Any], receive: Receive) -> asyncio.Task[None]:
    """A task that waits for the client to disconnect, then cancels the work."""

    async def leave() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        working.cancel()

    return asyncio.ensure_future(leave())


def _encode_outcome(working: asyncio.Future[Outcome]) -> bytes:
    try:
        return _encode_line({"type": "outcome", "outcome": working.result()})
    except Exception:
        log.exception("a request failed with a defect")
        broken = Broken(DEFECT)
        return _encode_line({"type": "error", "error": {"code": broken.code, "message": broken.message, "hint": ""}})


def _encode_line(value: Any) -> bytes:
    return _encode(value) + b"\n"
