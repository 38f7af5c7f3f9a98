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

from doorward import __version__, strictjson
from doorward.errors import CommandFailed, DoorwardError, TimedOut, Unreachable
from doorward.upstream import asking
from doorward.upstream.answering import Hooks
from doorward.upstream.budget import Budget
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import Connect, Connection, Unsent
from doorward.upstream.discretion import Discretion
from doorward.upstream.hearing import Hearing
from doorward.upstream.pending import Pending, Waiting
from doorward.wire import frames, meta
from doorward.wire.codes import STATELESS
from doorward.wire.frames import Frame, Response, WireError

log = logging.getLogger(__name__)

_LARGE = 128 * 1024
"""Larger messages are parsed in a thread, because parsing them would block the event loop."""
_NONSENSE = 1_000
"""Invalid lines in a row after which the connection is closed."""
_PATIENTLY = 60.0

_encode = msgspec.json.Encoder().encode


class Said(CommandFailed):
    """The server answered with a JSON-RPC error."""

    def __init__(self, message: str, *, number: int, data: Any) -> None:
        super().__init__(message)
        self.number = number
        self.data = data


class News(Protocol):
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
    """Implements `Receiver` for its connection, which exists after `open`."""

    connection: Connection

    def __init__(self, name: str, news: News, discretion: Discretion, *, sampling: bool = False) -> None:
        self.name = name
        self.opened = False
        self.modern = False
        self.version = ""
        self.faults = 0
        """Invalid lines and unsolicited responses."""
        self.heard = False
        """Whether a message arrived since this was last reset."""
        self.news = news
        self.discretion = discretion
        self._sampling = sampling
        self._loop = asyncio.get_running_loop()
        self._pending = Pending(self._expired)
        self._hearing = Hearing(self, sampling)
        self._meta: dict[str, Any] = {}
        self._lost: DoorwardError | None = None
        self._nonsense = 0
        self._last_nonsense = ""
        self._nonsense_at = 0.0
        self._budget = Budget()
        self._quiet_until = 0.0
        self._aside: deque[tuple[bytes, int | None]] = deque()
        self._reading: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        return self._lost is not None

    @property
    def calls(self) -> list[Waiting]:
        """The pending requests, without the long-running subscription."""
        return [waiting for waiting in self._pending if waiting.patience != math.inf]

    async def open(self, config: ServerConfig, connect: Connect) -> None:
        self.connection = await connect(config, self)
        self.opened = True

    def speak(self, version: str) -> None:
        """Use this protocol version from now on."""
        self.version = version
        self.modern = version >= STATELESS
        self._meta = (
            {
                meta.VERSION: version,
                meta.CLIENT: {"name": "doorward", "version": __version__},
                meta.CAPABILITIES: asking.capabilities(self._sampling),
            }
            if self.modern
            else {}
        )

    async def request(
        self, method: str, params: Mapping[str, Any], *, within: float, hooks: Hooks | None = None
    ) -> dict[str, Any]:
        """Send a request and return its result. Raises Said (the server's error), TimedOut, Unreachable or Unsent.

        When cancelled, it notifies the server and frees all resources.
        """
        waiting = self._sent(method, params, within, hooks)
        try:
            return await waiting.answer
        except asyncio.CancelledError:
            self._drop(waiting, "cancelled by the caller")
            raise
        finally:
            self._pending.close(waiting)

    def listen(self, params: Mapping[str, Any], ended: Callable[[bool], None]) -> int:
        """Open a subscription: a request without a deadline, which ends with its response or with `hush`.

        `ended` is called with whether the server refused it.
        """
        waiting = self._sent("subscriptions/listen", params, math.inf, None)

        def over(answer: asyncio.Future[dict[str, Any]]) -> None:
            self._pending.close(waiting)
            if not answer.cancelled():
                ended(isinstance(answer.exception(), Said))

        waiting.answer.add_done_callback(over)
        return waiting.id

    def hush(self, id: int) -> None:
        waiting = self._pending.get(id)
        if waiting is not None:
            self._drop(waiting, "no longer needed")
            waiting.answer.cancel()

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        self.connection.send(frames.notification(method, params), method=method, params=params)

    def _sent(self, method: str, params: Mapping[str, Any], within: float, hooks: Hooks | None) -> Waiting:
        if self._lost is not None:
            raise again(self._lost)
        waiting = self._pending.open(method, within, hooks)
        about = self._meta
        if hooks is not None:
            about = {**about}
            if hooks.progress is not None:
                about["progressToken"] = waiting.id
            if hooks.log is not None and self.modern:
                about[meta.LOG_LEVEL] = hooks.level
        whole = {**params, "_meta": about} if about else params
        try:
            frame = _encode({"jsonrpc": "2.0", "id": waiting.id, "method": method, "params": whole})
            self.connection.send(frame, id=waiting.id, method=method, params=whole)
        except BaseException:
            self._pending.close(waiting)
            raise
        return waiting

    def _drop(self, waiting: Waiting, why: str) -> None:
        """Cancel a request at the server. A late answer does not count as a fault."""
        if self._lost is None and waiting.method != "initialize":
            self._pending.give_up(waiting.id)
            notice = frames.notification("notifications/cancelled", {"requestId": waiting.id, "reason": why})
            self.connection.drop(waiting.id, notice)

    def _expired(self, waiting: Waiting) -> None:
        if not waiting.answer.done():
            self._drop(waiting, "it took too long")
            waiting.answer.set_exception(TimedOut(self._late_sentence(waiting)))

    def _late_sentence(self, waiting: Waiting) -> str:
        sentence = f"The server {self.name} did not answer {waiting.method} within {waiting.patience:g} seconds"
        asked = waiting.deadline - waiting.patience
        if self._nonsense and self._nonsense_at >= asked:
            sentence += f"; it wrote lines that are not MCP messages instead, the last one {self._last_nonsense!r}"
        return f"{sentence}."

    # Events of the connection.

    def received(self, frame: bytes, answering: int | None = None) -> None:
        if self._reading is not None or len(frame) > _LARGE:
            self._aside.append((frame, answering))
            if self._reading is None:
                self.connection.rest(_PATIENTLY)
                self._reading = self._loop.create_task(self._read_aside())
            return
        try:
            message = frames.read(frame)
        except WireError as error:
            self._unreadable(frame, error)
        else:
            self._heard(message, answering, len(frame))

    def unanswered(self, id: int, error: DoorwardError, *, again: bool = False) -> None:
        waiting = self._pending.get(id)
        if waiting is not None and not waiting.answer.done():
            error = self.discretion.with_error(error)
            error.message = naming_server(self.name, error.message)
            error.args = (error.message,)
            waiting.answer.set_exception(Unsent(error.message, hint=error.hint) if again else error)

    def lost(self, error: DoorwardError, *, again: bool = False) -> None:
        self._end(self.discretion.with_error(error), again)

    def noted(self, line: str) -> None:
        self.news.noted("stderr", line)

    async def close(self) -> None:
        """Close the connection. Pending requests fail."""
        self._end(Unreachable(f"The connection to the server {self.name} was closed."), None)
        if self.opened:
            await self.connection.close()

    def _end(self, error: DoorwardError, again_: bool | None) -> None:
        if self._lost is not None:
            return
        self._lost = error
        self._pending.stop()
        self._hearing.stop()
        if self._reading is not None:
            self._reading.cancel()
        for waiting in list(self._pending):
            if not waiting.answer.done():
                waiting.answer.set_exception(again(error))
        if again_ is not None:
            self.news.ended(error, again_)

    async def _read_aside(self) -> None:
        """Parse large messages in a thread, and the messages after them in order."""
        try:
            while self._aside:
                frame, answering = self._aside.popleft()
                try:
                    message = await asyncio.to_thread(frames.read, frame)
                except WireError as error:
                    self._unreadable(frame, error)
                else:
                    self._heard(message, answering, len(frame))
        finally:
            self._reading = None
            self._aside.clear()
        self.connection.rest(max(self._quiet_until - self._loop.time(), 0.0))

    def _heard(self, message: Frame, answering: int | None, size: int) -> None:
        self._nonsense = 0
        self.heard = True
        if isinstance(message, Response):
            waiting = self._pending.get(message.id)
            if waiting is None or waiting.answer.done():
                if not self._pending.late(message.id) and (waiting is None or not waiting.answer.cancelled()):
                    self.fault(f"a response to a request that is not pending: {message.id!r}", size)
            elif message.error is None:
                waiting.answer.set_result(message.result)
            else:
                waiting.answer.set_exception(self._said(waiting.method, message.error))
            return
        self._spend(size)
        self._hearing.heard(message, answering)

    def _said(self, method: str, error: dict[str, Any]) -> Said:
        message = self.discretion.of(error["message"], 2_000) or "no reason given"
        sentence = f"The server {self.name} answered {method} with an error: {message} (code {error['code']})."
        return Said(sentence, number=error["code"], data=error.get("data"))

    def fault(self, what: str, size: int = 0) -> None:
        """Count and log a protocol error of the server."""
        self.faults += 1
        self.news.noted("fault", what)
        self._spend(size)

    def call(self, id: object) -> Waiting | None:
        return self._pending.get(id)

    def _spend(self, size: int = 0) -> None:
        """Count an unsolicited message. If there are too many, pause reading."""
        now = self._loop.time()
        pause = self._budget.spend(size, now)
        if pause and self._lost is None:
            self._quiet_until = now + pause
            if self._reading is None:
                self.connection.rest(pause)

    def _unreadable(self, frame: bytes, error: WireError) -> None:
        if not frame.strip():
            return self._spend()
        self._nonsense += 1
        self._nonsense_at = self._loop.time()
        self._last_nonsense = self.discretion.of(frame[:1_000].decode("utf-8", "replace"), 80)
        self.fault(f"a line that is not a message ({error.message}): {self._last_nonsense}", len(frame))
        waiting = self._meant(frame)
        if waiting is not None and not waiting.answer.done():
            self._pending.give_up(waiting.id)
            sentence = f"The server {self.name} answered {waiting.method} with an invalid response: {error.message}"
            waiting.answer.set_exception(Unreachable(sentence))
        if self._nonsense >= _NONSENSE:
            sentence = f"The server {self.name} writes lines that are not MCP messages: {self._last_nonsense!r}."
            self._end(Unreachable(sentence), False)
        return None

    def _meant(self, frame: bytes) -> Waiting | None:
        """The request that an invalid frame probably answers, so that it need not wait for its timeout."""
        try:
            value = strictjson.loads(frame, max_bytes=_LARGE)
        except strictjson.NotJson:
            calls = self.calls
            return calls[0] if len(calls) == 1 and b'"jsonrpc"' in frame else None
        return self._pending.get(value.get("id")) if type(value) is dict and "method" not in value else None


def again(error: DoorwardError) -> DoorwardError:
    """Copy an error for one more caller. One exception raised in several places would collect all their tracebacks."""
    made = type(error)(error.message) if type(error) is not Said else Unreachable(error.message)
    made.hint, made.rule, made.retry_after = error.hint, error.rule, error.retry_after
    return made


def naming_server(name: str, sentence: str) -> str:
    """Add the server's name to a sentence that lacks it; messages of lower layers may only have an address."""
    return sentence if f"server {name}" in sentence.lower() else f"Server {name}: {sentence}"


def seconds(number: int) -> str:
    return "1 second" if number == 1 else f"{number} seconds"
