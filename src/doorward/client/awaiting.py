"""The asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator
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
from doorward.client.operation import AsyncStream, Awaiting
from doorward.client.transport import is_stream, options, reply, request_of, unanswered

T = TypeVar("T")


class AsyncClient(Api, Awaiting):
    """An asynchronous client: `async with AsyncClient(url) as doorward: await doorward.run("shell/ls")`.

    The URL and the token default to DOORWARD_URL and DOORWARD_TOKEN. Tasks may share a client.
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
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, token=token, room=room, timeout=timeout, retries=retries, plain_http=plain_http)
        self._http = httpx2.AsyncClient(transport=transport, **options(self._url, timeout))
        self._lock = asyncio.Lock()

    async def aclose(self) -> None:
        """Close the connections. An `async with` block does so at its end."""
        self._closed = True
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _finish(self, flow: Flow[T]) -> T:
        course = Course(flow)
        async with contextlib.AsyncExitStack() as channels:
            while (effect := course.effect) is not None:
                await self._step(course, effect, channels)
        return course.result

    def _follow(self, flow: Emitting[T]) -> AsyncStream[T]:
        return _Following(self._emitted(flow))

    async def _emitted(self, flow: Emitting[T]) -> AsyncGenerator[T, None]:
        course = Course(flow)
        async with contextlib.AsyncExitStack() as channels:
            while (effect := course.effect) is not None:
                if isinstance(effect, Emit):
                    yield effect.value
                    course.answer(None)
                else:
                    await self._step(course, effect, channels)

    async def _step(self, course: Course[Any], effect: Effect | Emit[Any], channels: contextlib.AsyncExitStack) -> None:
        try:
            answer = await self._perform(effect, channels)
        except NoAnswer as error:
            course.fail(error)
        else:
            course.answer(answer)

    async def _perform(self, effect: Effect | Emit[Any], channels: contextlib.AsyncExitStack) -> Any:
        match effect:
            case Send():
                return await self._send(effect, channels)
            case Next(channel=_Channel() as channel):
                return await channel.next()
            case Close(channel=_Channel() as channel):
                return await channel.aclose()
            case Pause():
                return await asyncio.sleep(effect.seconds)
            case Alone():
                async with self._lock:
                    return await self._finish(effect.flow)
        raise TypeError(f"the asynchronous client does not support {effect!r}")

    async def _send(self, send: Send, channels: contextlib.AsyncExitStack) -> Reply | Channel:
        with unanswered(begun=False):
            response = await self._http.send(request_of(self._http, self._url, send), stream=True)
        with unanswered():
            try:
                if send.listen and is_stream(response):
                    return await channels.enter_async_context(contextlib.aclosing(_Channel(response)))
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
            return reply(response)


class _Channel(Channel):
    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._pieces = response.aiter_bytes()
        self._reader = Reader()
        self._waiting: deque[Event] = deque()

    async def next(self) -> Event | None:
        with unanswered():
            while not self._waiting:
                piece = await anext(self._pieces, None)
                if piece is None:
                    return None
                self._waiting += self._reader.feed(piece)
        return self._waiting.popleft()

    async def aclose(self) -> None:
        await self._response.aclose()


class _Following(AsyncStream[T]):
    def __init__(self, items: AsyncGenerator[T, None]) -> None:
        self._items = items

    async def __anext__(self) -> T:
        return await anext(self._items)

    async def aclose(self) -> None:
        await self._items.aclose()
