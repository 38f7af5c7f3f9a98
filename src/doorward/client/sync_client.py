"""The blocking client."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, TypeVar

import httpx2

from doorward.client.descriptors import BlockingClient, Stream
from doorward.client.effects import (
    MAX_EVENT_BYTES,
    CloseChannel,
    Effect,
    Emit,
    EmittingFlow,
    EventChannel,
    Flow,
    FlowDriver,
    NextEvent,
    NoResponse,
    Pause,
    Reply,
    Send,
    WithLock,
    is_event_stream,
)
from doorward.client.operations import Operations
from doorward.client.transport import build_http_request, http_options, map_http_errors, to_reply
from doorward.core.wire.sse import SseEvent, SseParser

T = TypeVar("T")


class Client(Operations, BlockingClient):
    """A blocking client: `with Client(url) as doorward: doorward.run("shell/ls")`.

    The URL and the token default to DOORWARD_URL and DOORWARD_TOKEN. Threads may share a client.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        room: str | None = None,
        timeout: float = 130.0,
        retries: int = 3,
        plain_http: bool = False,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, token=token, room=room, timeout=timeout, retries=retries, plain_http=plain_http)
        self._http = httpx2.Client(transport=transport, **http_options(self._url, timeout))
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connections. A `with` block does so at its end."""
        self._closed = True
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _finish(self, flow: Flow[T]) -> T:
        course = FlowDriver(flow)
        with contextlib.ExitStack() as channels:
            while (effect := course.effect) is not None:
                self._step(course, effect, channels)
        return course.result

    def _follow(self, flow: EmittingFlow[T]) -> Stream[T]:
        return _ResultStream(self._iterate(flow))

    def _iterate(self, flow: EmittingFlow[T]) -> Iterator[T]:
        course = FlowDriver(flow)
        with contextlib.ExitStack() as channels:
            while (effect := course.effect) is not None:
                if isinstance(effect, Emit):
                    yield effect.value
                    course.send(None)
                else:
                    self._step(course, effect, channels)

    def _step(self, course: FlowDriver[Any], effect: Effect | Emit[Any], channels: contextlib.ExitStack) -> None:
        try:
            answer = self._perform(effect, channels)
        except NoResponse as error:
            course.throw(error)
        else:
            course.send(answer)

    def _perform(self, effect: Effect | Emit[Any], channels: contextlib.ExitStack) -> Any:
        match effect:
            case Send():
                return self._send(effect, channels)
            case NextEvent(channel=_SyncChannel() as channel):
                return channel.next()
            case CloseChannel(channel=_SyncChannel() as channel):
                return channel.close()
            case Pause():
                return time.sleep(effect.seconds)
            case WithLock():
                with self._lock:
                    return self._finish(effect.flow)
        raise TypeError(f"the blocking client does not support {effect!r}")

    def _send(self, send: Send, channels: contextlib.ExitStack) -> Reply | EventChannel:
        with map_http_errors(begun=False):
            response = self._http.send(build_http_request(self._http, self._url, send), stream=True)
        with map_http_errors():
            try:
                if send.listen and is_event_stream(response.status_code, response.headers):
                    return channels.enter_context(contextlib.closing(_SyncChannel(response)))
                response.read()
            except BaseException:
                response.close()
                raise
            return to_reply(response)


class _SyncChannel(EventChannel):
    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._pieces = response.iter_bytes()
        self._reader = SseParser(MAX_EVENT_BYTES)
        self._events: deque[SseEvent] = deque()

    def next(self) -> SseEvent | None:
        with map_http_errors():
            while not self._events:
                piece = next(self._pieces, None)
                if piece is None:
                    return None
                self._events += self._reader.feed(piece)
        return self._events.popleft()

    def close(self) -> None:
        self._response.close()


class _ResultStream(Stream[T]):
    def __init__(self, items: Any) -> None:
        self._items = items

    def __next__(self) -> T:
        item: T = next(self._items)
        return item

    def close(self) -> None:
        self._items.close()
