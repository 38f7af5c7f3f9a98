"""One MCP session over a connection: requests and responses, in all protocol versions.

A call needs no task and no timer of its own. Unsolicited messages are counted, and a server that sends too many is read
more slowly.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from doorward import __version__
from doorward.core import strictjson
from doorward.core.errors import CommandFailed, DoorwardError, TimedOut, Unreachable
from doorward.core.wire import frames, meta
from doorward.core.wire.codes import STATELESS
from doorward.core.wire.frames import Frame, WireError, WireResponse
from doorward.upstream import elicitation
from doorward.upstream.calls import CallHooks
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import Connect, NotProcessed, UpstreamConnection
from doorward.upstream.notifications import NotificationHandler
from doorward.upstream.pending_requests import PendingRequest, PendingRequests
from doorward.upstream.resilience import RateLimit
from doorward.upstream.secret_mask import SecretMask

log = logging.getLogger(__name__)

_LARGE_FRAME = 128 * 1024
"""Larger messages are parsed in a thread, because parsing them would block the event loop."""
_MAX_INVALID_LINES = 1_000
"""Invalid lines in a row after which the connection is closed."""
_PARSE_PAUSE = 60.0

_encode = msgspec.json.Encoder().encode


class ServerError(CommandFailed):
    """The server answered with a JSON-RPC error."""

    def __init__(self, message: str, *, number: int, data: Any) -> None:
        super().__init__(message)
        self.number = number
        self.data = data


class SessionListener(Protocol):
    """Receives the events of a session."""

    def changed(self, what: str) -> None:
        """The list of `tools`, `resources` or `prompts` changed."""

    def updated(self, uri: str) -> None:
        """A subscribed resource changed."""

    def ended(self, error: DoorwardError, again: bool) -> None:
        """The connection ended; called once. `again`: reconnect at once."""

    def noted(self, source: str, line: str) -> None:
        """A line for the server's log."""


class Session:
    """Implements `MessageReceiver` for its connection, which exists after `open`."""

    connection: UpstreamConnection

    def __init__(self, name: str, news: SessionListener, discretion: SecretMask, *, sampling: bool = False) -> None:
        self.name = name
        self.opened = False
        self.is_stateless = False
        self.version = ""
        self.faults = 0
        """Invalid lines and unsolicited responses."""
        self.heard = False
        """Whether a message arrived since this was last reset."""
        self.listener = news
        self.secret_mask = discretion
        self._sampling = sampling
        self._loop = asyncio.get_running_loop()
        self._pending = PendingRequests(self._expired)
        self._notifications = NotificationHandler(self, sampling)
        self._meta: dict[str, Any] = {}
        self._close_error: DoorwardError | None = None
        self._nonsense = 0
        self._last_nonsense = ""
        self._nonsense_at = 0.0
        self._budget = RateLimit()
        self._paused_until = 0.0
        self._large_frames: deque[tuple[bytes, int | None]] = deque()
        self._reading: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        return self._close_error is not None

    @property
    def pending_calls(self) -> list[PendingRequest]:
        """The pending requests, without the long-running subscription."""
        return [waiting for waiting in self._pending if waiting.patience != math.inf]

    async def open(self, config: ServerConfig, connect: Connect) -> None:
        self.connection = await connect(config, self)
        self.opened = True

    def set_version(self, version: str) -> None:
        """Use this protocol version from now on."""
        self.version = version
        self.is_stateless = version >= STATELESS
        self._meta = (
            {
                meta.VERSION: version,
                meta.CLIENT: {"name": "doorward", "version": __version__},
                meta.CAPABILITIES: elicitation.client_capabilities(self._sampling),
            }
            if self.is_stateless
            else {}
        )

    async def request(
        self, method: str, params: Mapping[str, Any], *, within: float, hooks: CallHooks | None = None
    ) -> dict[str, Any]:
        """Send a request and return its result. Raises Said (the server's error), TimedOut, Unreachable or Unsent.

        When cancelled, it notifies the server and frees all resources.
        """
        waiting = self._send_request(method, params, within, hooks)
        try:
            return await waiting.answer
        except asyncio.CancelledError:
            self._cancel(waiting, "cancelled by the caller")
            raise
        finally:
            self._pending.close(waiting)

    def open_subscription(self, params: Mapping[str, Any], ended: Callable[[bool], None]) -> int:
        """Open a subscription: a request without a deadline, which ends with its response or with `close_subscription`.

        `ended` is called with whether the server refused it.
        """
        waiting = self._send_request("subscriptions/listen", params, math.inf, None)

        def over(answer: asyncio.Future[dict[str, Any]]) -> None:
            self._pending.close(waiting)
            if not answer.cancelled():
                ended(isinstance(answer.exception(), ServerError))

        waiting.answer.add_done_callback(over)
        return waiting.id

    def close_subscription(self, id: int) -> None:
        waiting = self._pending.get(id)
        if waiting is not None:
            self._cancel(waiting, "no longer needed")
            waiting.answer.cancel()

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        self.connection.send(frames.notification(method, params), method=method, params=params)

    def _send_request(
        self, method: str, params: Mapping[str, Any], within: float, hooks: CallHooks | None
    ) -> PendingRequest:
        if self._close_error is not None:
            raise copy_error(self._close_error)
        waiting = self._pending.open(method, within, hooks)
        about = self._meta
        if hooks is not None:
            about = {**about}
            if hooks.progress is not None:
                about["progressToken"] = waiting.id
            if hooks.log is not None and self.is_stateless:
                about[meta.LOG_LEVEL] = hooks.level
        whole = {**params, "_meta": about} if about else params
        try:
            frame = _encode({"jsonrpc": "2.0", "id": waiting.id, "method": method, "params": whole})
            self.connection.send(frame, id=waiting.id, method=method, params=whole)
        except BaseException:
            self._pending.close(waiting)
            raise
        return waiting

    def _cancel(self, waiting: PendingRequest, why: str) -> None:
        """Cancel a request at the server. A late answer does not count as a fault."""
        if self._close_error is None and waiting.method != "initialize":
            self._pending.abandon(waiting.id)
            notice = frames.notification("notifications/cancelled", {"requestId": waiting.id, "reason": why})
            self.connection.drop(waiting.id, notice)

    def _expired(self, waiting: PendingRequest) -> None:
        if not waiting.answer.done():
            self._cancel(waiting, "it took too long")
            waiting.answer.set_exception(TimedOut(self._timeout_message(waiting)))

    def _timeout_message(self, waiting: PendingRequest) -> str:
        sentence = f"The server {self.name} did not answer {waiting.method} within {waiting.patience:g} seconds"
        asked = waiting.deadline - waiting.patience
        if self._nonsense and self._nonsense_at >= asked:
            sentence += f"; it wrote lines that are not MCP messages instead, the last one {self._last_nonsense!r}"
        return f"{sentence}."

    # Events of the connection.

    def received(self, frame: bytes, answering: int | None = None) -> None:
        if self._reading is not None or len(frame) > _LARGE_FRAME:
            self._large_frames.append((frame, answering))
            if self._reading is None:
                self.connection.rest(_PARSE_PAUSE)
                self._reading = self._loop.create_task(self._parse_large())
            return
        try:
            message = frames.parse_frame(frame)
        except WireError as error:
            self._handle_invalid(frame, error)
        else:
            self._dispatch(message, answering, len(frame))

    def unanswered(self, id: int, error: DoorwardError, *, again: bool = False) -> None:
        waiting = self._pending.get(id)
        if waiting is not None and not waiting.answer.done():
            error = self.secret_mask.mask_error(error)
            error.message = with_server_name(self.name, error.message)
            error.args = (error.message,)
            waiting.answer.set_exception(NotProcessed(error.message, hint=error.hint) if again else error)

    def lost(self, error: DoorwardError, *, again: bool = False) -> None:
        self._close_with(self.secret_mask.mask_error(error), again)

    def noted(self, line: str) -> None:
        self.listener.noted("stderr", line)

    async def close(self) -> None:
        """Close the connection. Pending requests fail."""
        self._close_with(Unreachable(f"The connection to the server {self.name} was closed."), None)
        if self.opened:
            await self.connection.close()

    def _close_with(self, error: DoorwardError, again_: bool | None) -> None:
        if self._close_error is not None:
            return
        self._close_error = error
        self._pending.stop()
        self._notifications.stop()
        if self._reading is not None:
            self._reading.cancel()
        for waiting in list(self._pending):
            if not waiting.answer.done():
                waiting.answer.set_exception(copy_error(error))
        if again_ is not None:
            self.listener.ended(error, again_)

    async def _parse_large(self) -> None:
        """Parse large messages in a thread, and the messages after them in order."""
        try:
            while self._large_frames:
                frame, answering = self._large_frames.popleft()
                try:
                    message = await asyncio.to_thread(frames.parse_frame, frame)
                except WireError as error:
                    self._handle_invalid(frame, error)
                else:
                    self._dispatch(message, answering, len(frame))
        finally:
            self._reading = None
            self._large_frames.clear()
        self.connection.rest(max(self._paused_until - self._loop.time(), 0.0))

    def _dispatch(self, message: Frame, answering: int | None, size: int) -> None:
        self._nonsense = 0
        self.heard = True
        if isinstance(message, WireResponse):
            waiting = self._pending.get(message.id)
            if waiting is None or waiting.answer.done():
                if not self._pending.is_late_answer(message.id) and (waiting is None or not waiting.answer.cancelled()):
                    self.record_fault(f"a response to a request that is not pending: {message.id!r}", size)
            elif message.error is None:
                waiting.answer.set_result(message.result)
            else:
                waiting.answer.set_exception(self._make_error(waiting.method, message.error))
            return
        self._count_unsolicited(size)
        self._notifications.handle(message, answering)

    def _make_error(self, method: str, error: dict[str, Any]) -> ServerError:
        message = self.secret_mask.mask_text(error["message"], 2_000) or "no reason given"
        sentence = f"The server {self.name} answered {method} with an error: {message} (code {error['code']})."
        return ServerError(sentence, number=error["code"], data=error.get("data"))

    def record_fault(self, what: str, size: int = 0) -> None:
        """Count and log a protocol error of the server."""
        self.faults += 1
        self.listener.noted("fault", what)
        self._count_unsolicited(size)

    def get_request(self, id: object) -> PendingRequest | None:
        return self._pending.get(id)

    def _count_unsolicited(self, size: int = 0) -> None:
        """Count an unsolicited message. If there are too many, pause reading."""
        now = self._loop.time()
        pause = self._budget.spend(size, now)
        if pause and self._close_error is None:
            self._paused_until = now + pause
            if self._reading is None:
                self.connection.rest(pause)

    def _handle_invalid(self, frame: bytes, error: WireError) -> None:
        if not frame.strip():
            return self._count_unsolicited()
        self._nonsense += 1
        self._nonsense_at = self._loop.time()
        self._last_nonsense = self.secret_mask.mask_text(frame[:1_000].decode("utf-8", "replace"), 80)
        self.record_fault(f"a line that is not a message ({error.message}): {self._last_nonsense}", len(frame))
        waiting = self._find_meant_request(frame)
        if waiting is not None and not waiting.answer.done():
            self._pending.abandon(waiting.id)
            sentence = f"The server {self.name} answered {waiting.method} with an invalid response: {error.message}"
            waiting.answer.set_exception(Unreachable(sentence))
        if self._nonsense >= _MAX_INVALID_LINES:
            sentence = f"The server {self.name} writes lines that are not MCP messages: {self._last_nonsense!r}."
            self._close_with(Unreachable(sentence), False)
        return None

    def _find_meant_request(self, frame: bytes) -> PendingRequest | None:
        """The request that an invalid frame probably answers, so that it need not wait for its timeout."""
        try:
            value = strictjson.loads(frame, max_bytes=_LARGE_FRAME)
        except strictjson.NotJson:
            calls = self.pending_calls
            return calls[0] if len(calls) == 1 and b'"jsonrpc"' in frame else None
        return self._pending.get(value.get("id")) if type(value) is dict and "method" not in value else None


def copy_error(error: DoorwardError) -> DoorwardError:
    """Copy an error for one more caller. One exception raised in several places would collect all their tracebacks."""
    made = type(error)(error.message) if type(error) is not ServerError else Unreachable(error.message)
    made.hint, made.rule, made.retry_after = error.hint, error.rule, error.retry_after
    return made


def with_server_name(name: str, sentence: str) -> str:
    """Add the server's name to a sentence that lacks it; messages of lower layers may only have an address."""
    return sentence if f"server {name}" in sentence.lower() else f"Server {name}: {sentence}"


def format_seconds(number: int) -> str:
    return "1 second" if number == 1 else f"{number} seconds"
