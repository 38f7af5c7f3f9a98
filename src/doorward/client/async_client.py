"""The asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

import httpx2

from doorward.client.descriptors import AsyncStream, AwaitableClient
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


class AsyncClient(Operations, AwaitableClient):
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
        self._http = httpx2.AsyncClient(transport=transport, **http_options(self._url, timeout))
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
        course = FlowDriver(flow)
        async with contextlib.AsyncExitStack() as channels:
            while (effect := course.effect) is not None:
                await self._step(course, effect, channels)
        return course.result

    def _follow(self, flow: EmittingFlow[T]) -> AsyncStream[T]:
        return _AsyncResultStream(self._iterate(flow))

    async def _iterate(self, flow: EmittingFlow[T]) -> AsyncGenerator[T, None]:
        course = FlowDriver(flow)
        async with contextlib.AsyncExitStack() as channels:
            while (effect := course.effect) is not None:
                if isinstance(effect, Emit):
                    yield effect.value
                    course.send(None)
                else:
                    await self._step(course, effect, channels)

    async def _step(
        self, course: FlowDriver[Any], effect: Effect | Emit[Any], channels: contextlib.AsyncExitStack
    ) -> None:
        try:
            answer = await self._perform(effect, channels)
        except NoResponse as error:
            course.throw(error)
        else:
            course.send(answer)

    async def _perform(self, effect: Effect | Emit[Any], channels: contextlib.AsyncExitStack) -> Any:
        match effect:
            case Send():
                return await self._send(effect, channels)
            case NextEvent(channel=_AsyncChannel() as channel):
                return await channel.next()
            case CloseChannel(channel=_AsyncChannel() as channel):
                return await channel.aclose()
            case Pause():
                return await asyncio.sleep(effect.seconds)
            case WithLock():
                async with self._lock:
                    return await self._finish(effect.flow)
        raise TypeError(f"the asynchronous client does not support {effect!r}")

    async def _send(self, send: Send, channels: contextlib.AsyncExitStack) -> Reply | EventChannel:
        with map_http_errors(begun=False):
            response = await self._http.send(build_http_request(self._http, self._url, send), stream=True)
        with map_http_errors():
            try:
                if send.listen and is_event_stream(response.status_code, response.headers):
                    return await channels.enter_async_context(contextlib.aclosing(_AsyncChannel(response)))
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
            return to_reply(response)


class _AsyncChannel(EventChannel):
    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._pieces = response.aiter_bytes()
        self._reader = SseParser(MAX_EVENT_BYTES)
        self._events: deque[SseEvent] = deque()

    async def next(self) -> SseEvent | None:
        with map_http_errors():
            while not self._events:
                piece = await anext(self._pieces, None)
                if piece is None:
                    return None
                self._events += self._reader.feed(piece)
        return self._events.popleft()

    async def aclose(self) -> None:
        await self._response.aclose()


class _AsyncResultStream(AsyncStream[T]):
    def __init__(self, items: AsyncGenerator[T, None]) -> None:
        self._items = items

    async def __anext__(self) -> T:
        return await anext(self._items)

    async def aclose(self) -> None:
        await self._items.aclose()
