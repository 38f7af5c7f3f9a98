"""The blocking client."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, TypeVar

import httpx2

from doorward.client.api import Api
from doorward.client.eventstream import Event, Reader
from doorward.client.flows import (
    Alone,
    Channel,
    Close,
    Course,
    Effect,
    Emit,
    Emitting,
    Flow,
    Next,
    NoAnswer,
    Pause,
    Reply,
    Send,
)
from doorward.client.operation import Blocking, Stream
from doorward.client.transport import is_stream, options, reply, request_of, unanswered

T = TypeVar("T")


class Client(Api, Blocking):
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
        self._http = httpx2.Client(transport=transport, **options(self._url, timeout))
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
        course = Course(flow)
        with contextlib.ExitStack() as channels:
            while (effect := course.effect) is not None:
                self._step(course, effect, channels)
        return course.result

    def _follow(self, flow: Emitting[T]) -> Stream[T]:
        return _Following(self._emitted(flow))

    def _emitted(self, flow: Emitting[T]) -> Iterator[T]:
        course = Course(flow)
        with contextlib.ExitStack() as channels:
            while (effect := course.effect) is not None:
                if isinstance(effect, Emit):
                    yield effect.value
                    course.answer(None)
                else:
                    self._step(course, effect, channels)

    def _step(self, course: Course[Any], effect: Effect | Emit[Any], channels: contextlib.ExitStack) -> None:
        try:
            answer = self._perform(effect, channels)
        except NoAnswer as error:
            course.fail(error)
        else:
            course.answer(answer)

    def _perform(self, effect: Effect | Emit[Any], channels: contextlib.ExitStack) -> Any:
        match effect:
            case Send():
                return self._send(effect, channels)
            case Next(channel=_Channel() as channel):
                return channel.next()
            case Close(channel=_Channel() as channel):
                return channel.close()
            case Pause():
                return time.sleep(effect.seconds)
            case Alone():
                with self._lock:
                    return self._finish(effect.flow)
        raise TypeError(f"the blocking client does not support {effect!r}")

    def _send(self, send: Send, channels: contextlib.ExitStack) -> Reply | Channel:
        with unanswered(begun=False):
            response = self._http.send(request_of(self._http, self._url, send), stream=True)
        with unanswered():
            try:
                if send.listen and is_stream(response):
                    return channels.enter_context(contextlib.closing(_Channel(response)))
                response.read()
            except BaseException:
                response.close()
                raise
            return reply(response)


class _Channel(Channel):
    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._pieces = response.iter_bytes()
        self._reader = Reader()
        self._waiting: deque[Event] = deque()

    def next(self) -> Event | None:
        with unanswered():
            while not self._waiting:
                piece = next(self._pieces, None)
                if piece is None:
                    return None
                self._waiting += self._reader.feed(piece)
        return self._waiting.popleft()

    def close(self) -> None:
        self._response.close()


class _Following(Stream[T]):
    def __init__(self, items: Any) -> None:
        self._items = items

    def __next__(self) -> T:
        item: T = next(self._items)
        return item

    def close(self) -> None:
        self._items.close()
