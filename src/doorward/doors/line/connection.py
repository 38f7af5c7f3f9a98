"""One connection of the line door: lines in, lines out, and an end for whoever is silent, slow or gone.

A connection costs no task of its own. Calls run in a few tasks, each of which takes the next waiting call when it has
done one; questions about calls go past those that wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, cast

from doorward.doors.line import frames
from doorward.doors.line.client import Visitor
from doorward.doors.line.desk import Desk
from doorward.doors.line.frames import Asked, BadLine
from doorward.doors.line.lines import Lines
from doorward.doors.line.pending import Notify, Pending
from doorward.errors import BadParams, Broken, DoorwardError, Overloaded, TimedOut, Withdrawn
from doorward.settings import Settings

log = logging.getLogger(__name__)

_MOST_AT_ONCE = 64
"""However many places a session has, one connection carries no more calls at a time."""
_MOST_WAITING = 64
"""So many calls wait in a connection before no more of its lines are read."""
_MOST_QUESTIONS = 8
_HIGH_WATER = 262_144


class Connection(asyncio.Protocol):
    def __init__(self, desk: Desk, settings: Settings, join: Callable[[Connection], bool], leave: Callable[..., None]):
        self._desk = desk
        self._line = settings.line
        self._places = min(settings.limits.running + settings.limits.queued, _MOST_AT_ONCE)
        self._join = join
        self._leave = leave
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions = 0
        self._workers = 0
        self._waiting: deque[Pending] = deque()
        self._running: set[Pending] = set()
        self._lines = Lines(self._line.request_bytes)
        self._out: list[bytes] = []
        self._notify: Notify = "slow"
        self._judged = self._ended = self._closing = self._stalled = self._held = False
        self._heard = self._half_since = self._moved = self._closed_at = 0.0
        self._unread = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._tls = transport.get_extra_info("sslcontext") is not None
        theirs, ours = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self._heard = self._loop.time()
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)
        if not theirs or not self._join(self):
            most = self._line.clients
            self._close(Overloaded(f"{most} clients are connected, and no more are taken.", hint="Try again later."))
            return
        self._visitor = Visitor(self._line, theirs[0])
        if self._line.open:
            self._transport.pause_reading()
            self._start(self._look(theirs[:2], ours[:2]))

    async def _look(self, theirs: tuple[str, int], ours: tuple[str, int]) -> None:
        """Nothing is read before it is known who is at the other end. The table may be long, so a thread reads it."""
        await asyncio.to_thread(self._visitor.look, theirs, ours)
        self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        self._heard = self._loop.time()
        if not self._judged and not self._begins_well(data):
            return
        for line in self._lines.feed(data):
            self._take(line)
        if not self._lines.half:
            self._half_since = 0.0
        elif not self._half_since or b"\n" in data:
            self._half_since = self._heard

    def _begins_well(self, data: bytes) -> bool:
        """Whoever speaks something else first is not read on: a web page could else put requests into what it sends."""
        start = data.lstrip(b" \t\r\n")
        if not start:
            return True
        self._judged = True
        if start.startswith(b"{"):
            return True
        if start[:2] == b"\x16\x03" and not self._tls:
            what = "The client speaks TLS, and this door does not"
        else:
            what = "The first line is no request"
        shape = '{"id":"1","method":"list_tools","params":{}}'
        self._close(BadParams(f"{what}; a request is one line of JSON such as {shape}."))
        return False

    def _take(self, line: bytes | None) -> None:
        if self._closing or (line is not None and not line.strip()):
            return
        if line is None:
            most = self._line.request_bytes
            self._send(frames.refusal(None, BadParams(f"The line is too long; a request has at most {most} bytes.")))
            return
        id = None
        try:
            asked = frames.read(line)
            id = asked.id
            if self._line.debug:
                self._desk.note(asked)
            self._handle(asked)
        except BadLine as fault:
            self._send(frames.refusal(id if fault.id is None else fault.id, fault))
        except DoorwardError as fault:
            self._send(frames.refusal(id, fault))
        except Exception:
            log.exception("a request broke")
            self._send(frames.refusal(id, Broken("This request failed because of a defect in Doorward.")))

    def _handle(self, asked: Asked) -> None:
        if asked.method == "initialize":
            answer, self._notify = self._desk.initialize(self._visitor, asked)
            self._send(answer)
            return
        client = self._visitor.client(asked)
        if asked.method == "list_tools":
            self._send(self._desk.list_tools(client, asked))
        elif asked.method == "call_tool":
            self._begin(self._desk.pending(client, asked, self._notify))
        elif self._questions >= _MOST_QUESTIONS:
            raise Overloaded(f"{self._questions} questions about executions wait for their answers; no more are taken.")
        else:
            ask = self._desk.status if asked.method == "get_execution_status" else self._desk.cancel
            self._questions += 1
            self._start(self._answer(asked, ask(client, asked)))

    async def _answer(self, asked: Asked, question: Coroutine[Any, Any, bytes]) -> None:
        try:
            self._send(await question)
        except BadLine as fault:
            self._send(frames.refusal(asked.id, fault))
        except Exception:
            log.exception("a request broke")
            self._send(frames.refusal(asked.id, Broken("This request failed because of a defect in Doorward.")))
        finally:
            self._questions -= 1

    def _begin(self, pending: Pending) -> None:
        if self._workers < self._places:
            self._workers += 1
            self._start(self._work(pending))
            return
        self._waiting.append(pending)
        if len(self._waiting) >= _MOST_WAITING and not self._held:
            self._held = True
            self._transport.pause_reading()

    async def _work(self, pending: Pending) -> None:
        """Run a call, and then whichever waits longest, until none does."""
        try:
            while True:
                pending.task = asyncio.current_task()
                self._running.add(pending)
                try:
                    self._send(await self._desk.run(pending))
                finally:
                    self._running.discard(pending)
                following = self._next()
                if following is None:
                    return
                pending = following
        finally:
            self._workers -= 1

    def _next(self) -> Pending | None:
        while self._waiting:
            pending = self._waiting.popleft()
            if self._held and len(self._waiting) < _MOST_WAITING // 2:
                self._held = False
                self._read_on()
            if not pending.withdrawn:
                return pending
            self._desk.forget(pending)
            self._send(frames.refusal(pending.id, Withdrawn(f"{pending.tool} was cancelled before it began.")))
        return None

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._heard = self._loop.time()
        if not task.cancelled() and task.exception() is not None:
            log.error("a connection broke", exc_info=task.exception())
            self._transport.abort()
        if self._ended and not self._tasks:
            self._shut()

    def eof_received(self) -> bool:
        """The end of input is no goodbye: whoever sends a line and closes its side still wants the answer."""
        self._take(self._lines.last())
        self._half_since = 0.0
        self._ended = True
        if self._tls or not self._tasks:
            self._shut()
            return False
        return True

    def tick(self, now: float) -> None:
        """Called several times a second: pass news on, and end what takes too long."""
        if self._closing:
            if now - self._closed_at > self._line.arrival_seconds:
                self._transport.abort()
            return
        if self._stalled:
            self._watch_reading(now)
            return
        for pending in list(self._running):
            news = pending.news(now, self._line.quiet_seconds, self._line.progress_seconds)
            if news:
                self._send(news)
            if now - pending.began >= self._line.call_seconds:
                self._desk.stop_in_time(pending)
        if self._half_since and now - self._half_since > self._line.arrival_seconds:
            seconds = self._line.arrival_seconds
            self._close(TimedOut(f"The rest of a line did not come within {seconds:g} s; the connection is closed."))
        elif not self._tasks and now - self._heard > self._line.idle_seconds:
            seconds = self._line.idle_seconds
            self._close(TimedOut(f"Nothing was asked for {seconds:g} s; the connection is closed."))

    def _watch_reading(self, now: float) -> None:
        """A client that reads slowly is waited for; one that does not read at all is given up."""
        unread = self._transport.get_write_buffer_size()
        if unread < self._unread:
            self._unread, self._moved = unread, now
        elif now - self._moved > self._line.arrival_seconds:
            log.warning("a line client did not read its answers, and was closed")
            self._transport.abort()

    def pause_writing(self) -> None:
        self._stalled = True
        self._moved, self._unread = self._loop.time(), self._transport.get_write_buffer_size()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._stalled = False
        self._read_on()

    def _read_on(self) -> None:
        if not (self._held or self._stalled or self._ended or self._closing):
            self._transport.resume_reading()

    def _send(self, lines: bytes) -> None:
        """Lines of one moment go out together."""
        if self._closing:
            return
        if self._line.debug:
            log.info("line door: sent %d bytes", len(lines))
        if (
            self._stalled
            and self._transport.get_write_buffer_size() + sum(map(len, self._out)) > self._line.unread_bytes
        ):
            log.warning("a line client left %d bytes unread, and was closed", self._line.unread_bytes)
            self._transport.abort()
            return
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(lines)

    def _flush(self) -> None:
        lines, self._out = self._out, []
        if lines and not self._transport.is_closing():
            self._transport.write(b"".join(lines))

    def _close(self, fault: DoorwardError) -> None:
        """Say why, and close."""
        self._send(frames.refusal(None, fault))
        self._shut()

    def _shut(self) -> None:
        if self._closing:
            return
        self._flush()
        self._closing = True
        self._closed_at = self._loop.time()
        self._abandon()
        self._transport.close()

    async def stop(self) -> None:
        """The door closes: calls are cancelled, and leave their record."""
        tasks = list(self._tasks)
        self._close(Withdrawn("Doorward is stopping."))
        await asyncio.gather(*tasks, return_exceptions=True)

    def connection_lost(self, error: Exception | None) -> None:
        self._closing = True
        self._abandon()
        self._leave(self)

    def _abandon(self) -> None:
        for pending in self._waiting:
            self._desk.forget(pending)
        self._waiting.clear()
        for task in list(self._tasks):
            task.cancel()
