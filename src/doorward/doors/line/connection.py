"""A connection of the line door: reads requests, runs calls, sends answers and closes idle or slow clients.

A connection needs no task of its own. A few worker tasks run its calls, each taking the next waiting call when it is
free. Status and cancel requests do not wait behind calls.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, cast

from doorward.config.settings import Settings
from doorward.core.byte_budget import ByteBudget
from doorward.core.errors import DEFECT, BadParams, Broken, DoorwardError, Overloaded, TimedOut, Withdrawn
from doorward.doors.line import frames
from doorward.doors.line.client import PeerIdentity
from doorward.doors.line.frames import BadLine, LineBuffer, LineRequest, OversizedLine
from doorward.doors.line.graceful_close import GracefulCloser
from doorward.doors.line.methods import LineMethods
from doorward.doors.line.pending_calls import NotifyLevel, PendingCall
from doorward.doors.line.tokenless_access import TokenlessAccess

log = logging.getLogger(__name__)

_MAX_RUNNING = 64
"""Calls that one connection runs at a time, whatever the limits of its session."""
_MAX_WAITING = 64
"""Waiting calls of a connection; at this number reading pauses."""
_MAX_STATUS_REQUESTS = 8
_HIGH_WATER = 262_144
"""Bytes of unsent answers; at this number no further request is handled."""


class LineConnection(asyncio.Protocol):
    def __init__(
        self,
        desk: LineMethods,
        settings: Settings,
        openness: TokenlessAccess,
        partings: GracefulCloser,
        budget: ByteBudget,
        join: Callable[[LineConnection], bool],
        leave: Callable[[LineConnection], None],
    ) -> None:
        self._methods = desk
        self._line = settings.line
        self._access = openness
        self._max_workers = min(settings.limits.running + settings.limits.queued, _MAX_RUNNING)
        self._closer = partings
        self._join = join
        self._leave = leave
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._status_requests = 0
        self._workers = 0
        self._waiting: deque[PendingCall] = deque()
        self._running: set[PendingCall] = set()
        self._lines = LineBuffer(self._line.request_bytes)
        self._arrived: deque[bytes | OversizedLine] = deque()
        self._arrived_bytes = 0
        self.account = budget.open_account(self._close)
        """The received bytes that are not handled yet."""
        self._behind = False
        """Whether received lines wait because earlier answers must be sent first."""
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._notify: NotifyLevel = "slow"
        self._first_bytes_checked = self._ended = self._closing = self._stalled = self._held = False
        self._last_request = self._half_since = self._last_progress = 0.0
        self._unread = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._tls = transport.get_extra_info("sslcontext") is not None
        theirs, ours = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self._last_request = self._loop.time()
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)
        if not theirs or not self._join(self):
            most = self._line.clients
            self._close(Overloaded(f"All {most} client connections are in use.", hint="Try again later."))
            return
        self._peer = PeerIdentity(self._line, self._access, theirs[0])
        if self._access.is_allowed:
            self._transport.pause_reading()
            self._start_task(self._identify_peer(theirs[:2], ours[:2]))

    async def _identify_peer(self, theirs: tuple[str, int], ours: tuple[str, int]) -> None:
        """Identify the other end before anything is read. A thread does it, because the kernel's table may be long."""
        await asyncio.to_thread(self._peer.check_account, theirs, ours)
        if self._peer.own_session:
            self.account.authenticate(self._peer.own_session)
        self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self._closing:
            self._closer.discard(self._transport, data)
            return
        self._last_request = self._loop.time()
        if not self._first_bytes_checked and not self._check_first_bytes(data):
            return
        for line in self._lines.feed(data):
            self._arrived.append(line)
            self._arrived_bytes += len(line)
        if not self._lines.is_incomplete:
            self._half_since = 0.0
        elif not self._half_since or b"\n" in data:
            self._half_since = self._last_request
        self._handle_arrived()

    def _handle_arrived(self) -> None:
        """Handle received lines, but no faster than answers are sent: a short request can have a very long answer."""
        while self._arrived and not self._stalled and self._out_bytes < _HIGH_WATER:
            line = self._arrived.popleft()
            self._arrived_bytes -= len(line)
            self._handle_line(line)
        try:
            self.account.hold(self._arrived_bytes + self._lines.size)
        except DoorwardError as fault:
            self._close(fault)
        if self._arrived and not self._behind:
            self._behind = True
            self._transport.pause_reading()
        elif self._behind and not self._arrived:
            self._behind = False
            self._resume_reading()
        self._close_if_done()

    def _check_first_bytes(self, data: bytes) -> bool:
        """Close a connection that starts with another protocol. Otherwise a web page could hide requests in its own."""
        start = data.lstrip(b" \t\r\n")
        if not start:
            return True
        self._first_bytes_checked = True
        if not start.startswith(b"{"):
            self._close(frames.other_protocol(start, tls=self._tls))
        return not self._closing

    def _handle_line(self, line: bytes | OversizedLine) -> None:
        if self._closing or (isinstance(line, bytes) and not line.strip()):
            return
        if isinstance(line, OversizedLine):
            if frames.may_contain_token(line.beginning):
                self._peer.refuse()
            most = self._line.request_bytes
            self._send(
                frames.encode_refusal(
                    None, BadParams(f"The line is too long. A request may have at most {most} bytes.")
                )
            )
            return
        id = None
        try:
            asked = frames.parse_request(line)
            id = asked.id
            if self._line.debug:
                self._methods.log_request(asked)
            self._dispatch(asked)
        except BadLine as fault:
            if fault.has_token:
                self._peer.refuse()
            self._send(frames.encode_refusal(id if fault.id is None else fault.id, fault))
        except DoorwardError as fault:
            self._send(frames.encode_refusal(id, fault))
        except Exception:
            log.exception("a request failed with a defect")
            self._send(frames.encode_refusal(id, Broken(DEFECT)))

    def _dispatch(self, asked: LineRequest) -> None:
        if asked.method == "initialize":
            self._initialize(asked)
        client = self._methods.identify(self._peer, asked)
        if not self._peer.refused:
            self.account.authenticate(client.session)
        if asked.method == "initialize":
            return
        if asked.method == "list_tools":
            self._send(self._methods.list_tools(client, asked))
        elif asked.method == "call_tool":
            self._start_call(self._methods.prepare_call(client, asked, self._notify))
        elif self._status_requests >= _MAX_STATUS_REQUESTS:
            raise Overloaded(
                f"{self._status_requests} requests about executions are still being answered. Wait for one of them."
            )
        else:
            ask = self._methods.status if asked.method == "get_execution_status" else self._methods.cancel
            self._status_requests += 1
            self._start_task(self._answer(asked, ask(client, asked)))

    def _initialize(self, asked: LineRequest) -> None:
        """Identify the client. One whose token is refused, for any reason, must not continue without a token."""
        if asked.token:
            self._peer.refuse()
        answer, self._notify = self._methods.initialize(self._peer, asked)
        self._send(answer)

    async def _answer(self, asked: LineRequest, question: Coroutine[Any, Any, bytes]) -> None:
        try:
            self._send(await question)
        except BadLine as fault:
            self._send(frames.encode_refusal(asked.id, fault))
        except Exception:
            log.exception("a request failed with a defect")
            self._send(frames.encode_refusal(asked.id, Broken(DEFECT)))
        finally:
            self._status_requests -= 1

    def _start_call(self, pending: PendingCall) -> None:
        if self._workers < self._max_workers:
            self._workers += 1
            self._running.add(pending)
            self._start_task(self._run_calls(pending))
            return
        self._waiting.append(pending)
        if len(self._waiting) >= _MAX_WAITING and not self._held:
            self._held = True
            self._transport.pause_reading()

    async def _run_calls(self, pending: PendingCall) -> None:
        """Run a call, then the waiting calls, oldest first."""
        try:
            while True:
                pending.task = asyncio.current_task()
                self._running.add(pending)
                try:
                    self._send(await self._methods.run_call(pending))
                finally:
                    self._running.discard(pending)
                following = self._next_call()
                if following is None:
                    return
                pending = following
        finally:
            self._workers -= 1

    def _next_call(self) -> PendingCall | None:
        while self._waiting:
            pending = self._waiting.popleft()
            if self._held and len(self._waiting) < _MAX_WAITING // 2:
                self._held = False
                self._resume_reading()
            if not pending.withdrawn:
                return pending
            self._methods.forget_call(pending)
            self._send(frames.encode_refusal(pending.id, Withdrawn(f"{pending.tool} was cancelled before it started.")))
        return None

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._last_request = self._loop.time()
        if not task.cancelled() and task.exception() is not None:
            log.error("a connection failed with a defect", exc_info=task.exception())
            self._transport.abort()
        self._close_if_done()

    def eof_received(self) -> bool:
        """Stay open after the end of input: a client that sends a line and closes its side still wants the answer."""
        if self._closing:
            return False
        rest = self._lines.take_rest()
        self._arrived.append(rest)
        self._arrived_bytes += len(rest)
        self._half_since = 0.0
        self._ended = True
        self._handle_arrived()
        if self._tls:
            self._begin_close()
        return not self._closing

    def _close_if_done(self) -> None:
        if self._ended and not self._tasks and not self._arrived:
            self._begin_close()

    def tick(self, now: float) -> None:
        """Send due notifications, and stop what takes too long. Called several times a second."""
        if self._stalled:
            self._check_reader(now)
            return
        for pending in list(self._running):
            news = pending.take_notifications(now, self._line.quiet_seconds, self._line.progress_seconds)
            if news:
                self._send(news)
            if now - pending.began >= self._line.call_seconds:
                self._methods.stop_overdue(pending)
        if self._half_since and now - self._half_since > self._line.arrival_seconds:
            seconds = self._line.arrival_seconds
            self._close(TimedOut(f"A line was incomplete after {seconds:g} s. The connection is closed."))
        elif not self._tasks and now - self._last_request > self._line.idle_seconds:
            seconds = self._line.idle_seconds
            self._close(TimedOut(f"No request for {seconds:g} s. The connection is closed."))

    def idle_seconds(self, now: float) -> float:
        """Seconds without a request; 0 while a call runs."""
        return 0.0 if self._tasks else now - self._last_request

    def give_way(self, now: float) -> None:
        """Close this connection, because another client needs its place."""
        why = "No valid credentials" if self.is_stranger else f"No request for {self.idle_seconds(now):.1f} s"
        message = f"{why}, and another client needs the place. The connection is closed."
        self._close(Overloaded(message, hint="Connect again for the next request."))

    @property
    def is_stranger(self) -> bool:
        """Whether no request has been authenticated yet."""
        return self.account.caller is None

    def _check_reader(self, now: float) -> None:
        """Wait for a client that reads slowly, and close one that does not read at all."""
        unread = self._transport.get_write_buffer_size()
        if unread < self._unread:
            self._unread, self._last_progress = unread, now
        elif now - self._last_progress > self._line.arrival_seconds:
            log.warning("closed a line client that did not read its answers")
            self._transport.abort()

    def pause_writing(self) -> None:
        self._stalled = True
        self._last_progress, self._unread = self._loop.time(), self._transport.get_write_buffer_size()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._stalled = False
        self._resume_reading()
        self._handle_arrived()

    def _resume_reading(self) -> None:
        if not (self._held or self._behind or self._stalled or self._ended or self._closing):
            self._transport.resume_reading()

    def _send(self, lines: bytes) -> None:
        """Queue lines; those of one loop iteration are written together."""
        if self._closing:
            return
        if self._line.debug:
            log.info("line door: sent %d bytes", len(lines))
        if self._stalled and self._transport.get_write_buffer_size() + self._out_bytes > self._line.unread_bytes:
            log.warning("closed a line client that left %d bytes unread", self._line.unread_bytes)
            self._transport.abort()
            return
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(lines)
        self._out_bytes += len(lines)

    def _flush(self) -> None:
        lines, self._out, self._out_bytes = self._out, [], 0
        if lines and not self._transport.is_closing():
            self._transport.write(b"".join(lines))
        if self._arrived and not self._stalled:
            self._loop.call_soon(self._handle_arrived)

    def _close(self, fault: DoorwardError) -> None:
        """Send the reason, then close."""
        self._send(frames.encode_close_reason(fault))
        self._begin_close()

    def _begin_close(self) -> None:
        if self._closing:
            return
        self._flush()
        self._closing = True
        self._drop_input()
        self._cancel_calls()
        self._leave(self)
        self._closer.close(self._transport, may_send=not self._ended)

    async def stop(self) -> None:
        """Close at shutdown: cancel the calls, which are recorded."""
        tasks = list(self._tasks)
        self._close(Withdrawn("Doorward is stopping."))
        await asyncio.gather(*tasks, return_exceptions=True)

    def connection_lost(self, error: Exception | None) -> None:
        self._closing = True
        self._drop_input()
        self._cancel_calls()
        self._leave(self)
        self._closer.forget(self._transport)

    def _drop_input(self) -> None:
        self._arrived.clear()
        self._lines.take_rest()
        self.account.release()

    def _cancel_calls(self) -> None:
        for pending in (*self._waiting, *(one for one in self._running if not one.began)):
            self._methods.forget_call(pending)
        self._waiting.clear()
        for task in list(self._tasks):
            task.cancel()
