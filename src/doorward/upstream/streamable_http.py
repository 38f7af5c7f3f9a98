"""The Streamable HTTP transport: each message to the server is an HTTP request.

The protocol versions differ in state. Up to 2025-11-25 a server may assign a session, which later requests name and a
DELETE ends; messages outside requests arrive on a separate stream; a broken stream can be resumed. Since 2026-07-28
there is no state: each request describes itself, partly in headers, and closing its stream cancels it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any

from doorward.core.errors import DEFECT, Broken, DoorwardError, Unreachable
from doorward.core.strictjson import MAX_BYTES
from doorward.core.wire import http as values
from doorward.core.wire.codes import WITH_SESSIONS
from doorward.core.wire.sse import EVENT_STREAM, EventTooLarge, SseParser
from doorward.upstream.authorization import RequestAuthorizer
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import MessageReceiver
from doorward.upstream.http_client import HttpAnswer, HttpClient
from doorward.upstream.http_endpoint import (
    HeaderParams,
    ServerEndpoint,
    declared_version,
    extract_error,
    extract_error_text,
    find_header_params,
    is_answer_to,
    make_param_headers,
)
from doorward.upstream.resilience import RateLimit

_NAME_FIELDS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_MAX_CONCURRENT = 256
"""Limit on concurrent requests to one server; the gate limits callers much earlier."""
_MAX_RESUMES = 5
"""How often a broken stream is resumed without a new event."""
_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_CLOSE_SECONDS = 3.0
_TAIL = 1.0
"""Seconds for an answered stream to end by itself; after that its connection is closed instead of reused."""
_LARGEST_REFUSAL = 64 * 1024
_IDLE = 256
"""Lines without a message after which they count towards the rate limit."""
_AT_ONCE = 16 * 1024
"""Bytes of a stream to parse before other tasks may run."""
_LINE = 64
"""Bytes that such a line counts as: sixteen of them count as one message."""


class StreamableHttpConnection:
    """A `connection.Connection` over HTTP."""

    def __init__(
        self, config: ServerConfig, receiver: MessageReceiver, web: HttpClient, authorizer: RequestAuthorizer
    ) -> None:
        self._endpoint = ServerEndpoint(config, web, authorizer)
        self._where = self._endpoint.origin
        self._receiver = receiver
        self._web = web
        self._version = ""
        self._session = ""
        self._places: dict[str, HeaderParams] = {}
        self._requests: dict[int, asyncio.Task[None]] = {}
        self._other_tasks: set[asyncio.Task[None]] = set()
        self._opening: asyncio.Task[None] | None = None
        self._awake = asyncio.Event()
        self._awake.set()
        self._waking: asyncio.TimerHandle | None = None
        self._gone = False
        self._over = False
        self._budget = RateLimit()

    process: int | None = None
    confinement = ""

    def send(
        self, frame: bytes, *, id: int | None = None, method: str = "", params: Mapping[str, Any] | None = None
    ) -> None:
        if self._over:
            raise Unreachable(f"The connection to {self._where} has ended.")
        if len(self._requests) + len(self._other_tasks) >= _MAX_CONCURRENT:
            raise Unreachable(f"{_MAX_CONCURRENT} requests to {self._where} are running already, which is the limit.")
        version = declared_version(params)
        headers = self._headers(method, params or {}, version)
        if id is None:
            task = self._start(self._send_notification(frame, headers), None)
            if method == "notifications/initialized":
                self._opening = task
                task.add_done_callback(self._initialized)
        else:
            before = None if method == "initialize" else self._opening
            self._start(self._send_request(frame, id, headers, method, bool(version), before), id)

    def drop(self, id: int, notice: bytes) -> None:
        task = self._requests.pop(id, None)
        if task is not None:
            task.cancel()
            if self._version in WITH_SESSIONS and not self._over:
                self._start(self._send_notification(notice, self._headers("", {}, "")), None)

    def agreed(self, version: str) -> None:
        self._version = version

    def admit(self, tools: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the callable tools. Since 2026-07-28 a definition says which arguments are repeated in headers."""
        if self._version in WITH_SESSIONS:
            return tools, []
        good, problems = [], []
        for tool in tools:
            name, schema = tool.get("name"), tool.get("inputSchema")
            try:
                wanted = find_header_params(schema) if isinstance(schema, dict) else {}
            except ValueError as error:
                problems.append(f"The tool {str(name)[:80]!r} cannot be called over HTTP: {error}.")
                continue
            if isinstance(name, str) and wanted:
                self._places[name] = wanted
            good.append(tool)
        return good, problems

    def rest(self, seconds: float) -> None:
        """Pause delivery. Little is read ahead, so the server soon has to wait too."""
        if self._waking is not None:
            self._waking.cancel()
            self._waking = None
        if seconds > 0 and not self._over:
            self._awake.clear()
            self._waking = asyncio.get_running_loop().call_later(seconds, self._awake.set)
        else:
            self._awake.set()

    async def close(self) -> None:
        if self._over:
            return
        self._over = True
        self.rest(0)
        tasks = {*self._requests.values(), *self._other_tasks}
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks)
            if self._session:
                await self._delete_session()
        finally:
            self._web.close()

    # Sending

    def _headers(self, method: str, params: Mapping[str, Any], version: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": f"application/json, {EVENT_STREAM}"}
        if version:
            headers["MCP-Protocol-Version"] = version
            headers["Mcp-Method"] = method
            named = params.get(_NAME_FIELDS.get(method, ""))
            if isinstance(named, str):
                headers["Mcp-Name"] = values.encode_header(named)
                if method == "tools/call" and named in self._places:
                    headers |= make_param_headers(self._places[named], params.get("arguments"))
        elif method != "initialize":
            headers |= self._session_headers()
        return headers

    def _session_headers(self) -> dict[str, str]:
        headers = {"MCP-Protocol-Version": self._version} if self._version else {}
        return headers | ({"Mcp-Session-Id": self._session} if self._session else {})

    async def _send_notification(self, frame: bytes, headers: Mapping[str, str]) -> None:
        """Send a message that has no response."""
        try:
            answer = await self._endpoint.request("POST", headers, frame)
        except DoorwardError as error:
            self._receiver.noted(f"A message could not be delivered to the server: {error}")
            return
        if answer.status >= 400:
            self._receiver.noted(f"The server answered a notification with {answer.status}.")
        try:
            async with asyncio.timeout(_TAIL):
                await answer.read_all(_LARGEST_REFUSAL)
        except (TimeoutError, Unreachable):
            answer.release()

    async def _send_request(
        self,
        frame: bytes,
        id: int,
        headers: dict[str, str],
        method: str,
        stateless: bool,
        before: asyncio.Task[None] | None,
    ) -> None:
        """Send a request and deliver its answer, or the reason why there is none."""
        if before is not None and not before.done():
            await asyncio.wait([before])
        try:
            answer = await self._endpoint.request("POST", headers, frame)
            try:
                if method == "initialize" and answer.status == 200:
                    self._session = answer.headers.get("mcp-session-id", "")
                await self._handle_answer(answer, id, stateless, headers)
            finally:
                answer.release()
        except DoorwardError as error:
            self._receiver.unanswered(id, error)

    async def _handle_answer(self, answer: HttpAnswer, id: int, stateless: bool, headers: Mapping[str, str]) -> None:
        if answer.status == 200 and answer.media_type == EVENT_STREAM:
            await self._read_request_stream(answer, id, stateless)
            return
        if answer.status == 200 and answer.media_type == "application/json":
            message = (await answer.read_all(MAX_BYTES)).strip()
            self._receiver.received(message, id)
            if not is_answer_to(message, id):
                raise Unreachable(f"{self._where} answered with something other than the response to this request.")
            return
        body = await answer.read_all(_LARGEST_REFUSAL)
        said, in_session = extract_error(body, id), "Mcp-Session-Id" in headers
        if in_session and (answer.status == 404 or (said is None and _is_about_session(answer.status, body))):
            self._session_ended(id, extract_error_text(body, answer.media_type))
        elif said is not None:
            self._receiver.received(said, id)
        else:
            self._receiver.noted(f"HTTP {answer.status}: {body[:400].decode('utf-8', 'replace')}")
            raise self._endpoint.make_error(answer, extract_error_text(body, answer.media_type))

    def _session_ended(self, id: int | None, words: str = "") -> None:
        """The server no longer knows the session. A new connection starts a new session.

        Servers should answer 404. Many restarted servers answer 400 with a text about the session instead.
        """
        said = f", and says: {words}" if words else "."
        error = Unreachable(f"The server at {self._where} has ended the session{said}")
        self._session = ""
        if id is not None:
            self._receiver.unanswered(id, error, again=True)
        if not self._over and not self._gone:
            self._gone = True
            self._receiver.lost(error, again=True)

    # Receiving

    async def _read_request_stream(self, answer: HttpAnswer, id: int, stateless: bool) -> None:
        """Deliver the messages on the stream of a request, up to its answer."""
        events, tries = SseParser(MAX_BYTES), 0
        while True:
            before = events.last_id
            problem = await self._deliver_events(answer, events, id)
            if problem is None:
                return
            if stateless or not events.last_id or isinstance(problem, _MessageTooLong):
                raise problem
            tries = tries + 1 if events.last_id == before else 1
            if tries > _MAX_RESUMES:
                raise problem
            await asyncio.sleep(_PAUSE if events.retry_seconds is None else events.retry_seconds)
            answer = await self._endpoint.request("GET", self._stream_headers(events.last_id))
            if answer.status != 200 or answer.media_type != EVENT_STREAM:
                answer.release()
                raise problem
            events = _resume_parser(events)

    async def _deliver_events(self, answer: HttpAnswer, events: SseParser, id: int | None) -> Unreachable | None:
        """Deliver messages; return None after the answer to `id`, otherwise the reason why the stream ended."""
        try:
            async for piece in answer.pieces():
                for part in _split_piece(piece):
                    for event in events.feed(part):
                        if event.name != "message" or not event.data:
                            continue
                        events.idle_lines = 0
                        await self._awake.wait()
                        self._receiver.received(event.data, id)
                        if id is not None and is_answer_to(event.data, id):
                            await _drain(answer)
                            return None
                    if events.idle_lines >= _IDLE:
                        await self._slow_down(events)
        except EventTooLarge:
            return _MessageTooLong(f"{self._where} sent a message of more than {MAX_BYTES} bytes, which is the limit.")
        except Unreachable as error:
            return error
        finally:
            answer.release()
        return Unreachable(f"{self._where} ended its stream without an answer.")

    async def _slow_down(self, events: SseParser) -> None:
        """Slow down a server that sends many lines without a message, and let other tasks run."""
        lines, events.idle_lines = events.idle_lines, 0
        await asyncio.sleep(self._budget.spend(lines * _LINE, asyncio.get_running_loop().time()))

    def _initialized(self, task: asyncio.Task[None]) -> None:
        if not self._over and not task.cancelled() and self._version in WITH_SESSIONS:
            self._start(self._listen(), None)

    def _stream_headers(self, last_id: str) -> dict[str, str]:
        headers = {"Accept": EVENT_STREAM, **self._session_headers()}
        return {**headers, "Last-Event-ID": last_id} if last_id.isascii() and last_id else headers

    async def _listen(self) -> None:
        """Read the stream for messages outside requests, as long as there is one. Many servers have none."""
        events, pause = SseParser(MAX_BYTES), _PAUSE
        while True:
            try:
                answer = await self._endpoint.request("GET", self._stream_headers(events.last_id))
                if answer.status != 200 or answer.media_type != EVENT_STREAM:
                    answer.release()
                    if answer.status == 404 and self._session:
                        self._session_ended(None)
                    return
                before = events.last_id
                events = _resume_parser(events)
                await self._deliver_events(answer, events, None)
                pause = _PAUSE if events.last_id != before else min(pause * 2, _LONGEST_PAUSE)
            except DoorwardError as error:
                self._receiver.noted(f"The server's stream cannot be read: {error}")
                pause = min(pause * 2, _LONGEST_PAUSE)
            await asyncio.sleep(pause if events.retry_seconds is None else max(events.retry_seconds, pause))

    # Closing

    async def _delete_session(self) -> None:
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                answer = await self._endpoint.request("DELETE", self._session_headers())
                answer.release()
        except (TimeoutError, DoorwardError) as error:
            self._receiver.noted(f"The session could not be ended cleanly: {error or 'no answer'}")

    def _start(self, work: Coroutine[Any, Any, None], id: int | None) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        if id is None:
            self._other_tasks.add(task)
        else:
            self._requests[id] = task
        task.add_done_callback(lambda done: self._task_done(done, id))
        return task

    def _task_done(self, task: asyncio.Task[None], id: int | None) -> None:
        self._other_tasks.discard(task)
        if id is not None and self._requests.get(id) is task:
            del self._requests[id]
        if not task.cancelled() and (error := task.exception()) is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"A request to {self._where} raised an exception.", "exception": error, "task": task}
            )
            if id is not None:
                self._receiver.unanswered(id, Broken(DEFECT))


class _MessageTooLong(Unreachable):
    """A message is too long; resuming would only deliver it again."""


def _is_about_session(status: int, body: bytes) -> bool:
    """Whether an error response is about the session rather than the request."""
    return 400 <= status < 500 and b"session" in body.lower()


def _split_piece(piece: bytes) -> Iterator[bytes]:
    """Split a piece of a stream into parts that are fast to parse even when they are all line ends."""
    for at in range(0, len(piece), _AT_ONCE):
        yield piece[at : at + _AT_ONCE]


def _resume_parser(events: SseParser) -> SseParser:
    """A parser for the resumed stream. A partial message of the old stream is discarded."""
    following = SseParser(MAX_BYTES, events.last_id)
    following.retry_seconds = events.retry_seconds
    return following


async def _drain(answer: HttpAnswer) -> None:
    """Give an answered stream a moment to end, so that its connection can be reused."""
    try:
        async with asyncio.timeout(_TAIL):
            async for _ in answer.pieces():
                return
    except (TimeoutError, Unreachable):
        return
