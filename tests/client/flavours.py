"""Both kinds of client behind one blocking face, so that one test is about both."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from doorward.client import AsyncClient, Client
from waiting import PATIENCE


class Blocking:
    """A `Client` as it is."""

    name = "blocking"

    def make(self, *args: Any, **options: Any) -> Any:
        return Client(*args, **options)

    def first(self, client: Any, command: str, /, **params: Any) -> Any:
        """The first thing that a command says, of a loop that is left there."""
        for event in client.stream(command, **params):
            return event
        raise AssertionError("it said nothing")

    def at_once(self, method: Callable[[], Any], times: int) -> list[Any]:
        with ThreadPoolExecutor(times) as pool:
            return [one.result() for one in [pool.submit(method) for _ in range(times)]]

    def let_the_access_token_end(self, client: Any) -> None:
        client._login = msgspec.structs.replace(client._login, access="it-has-ended")

    def close(self) -> None:
        pass


class Awaiting:
    """An `AsyncClient`, each call of which is carried out on an event loop in a thread of its own."""

    name = "awaiting"

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def make(self, *args: Any, **options: Any) -> Any:
        return _Faced(self, AsyncClient(*args, **options))

    def first(self, client: Any, command: str, /, **params: Any) -> Any:
        async def first() -> Any:
            async for event in client._client.stream(command, **params):
                return event
            raise AssertionError("it said nothing")

        return self.wait(first())

    def at_once(self, method: Callable[[], Any], times: int) -> list[Any]:
        return Blocking().at_once(method, times)

    def let_the_access_token_end(self, client: Any) -> None:
        Blocking().let_the_access_token_end(client._client)

    def wait(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class _Faced:
    def __init__(self, flavour: Awaiting, client: AsyncClient) -> None:
        self._flavour = flavour
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name in ("stream", "events"):
            return lambda *args, **options: _FacedStream(self._flavour, method(*args, **options))
        return lambda *args, **options: self._flavour.wait(method(*args, **options))

    def __repr__(self) -> str:
        return repr(self._client)

    def close(self) -> None:
        self._flavour.wait(self._client.aclose())

    def __enter__(self) -> _Faced:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _FacedStream:
    def __init__(self, flavour: Awaiting, stream: Any) -> None:
        self._flavour = flavour
        self._stream = stream

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._flavour.wait(self._next())
        except LookupError:
            raise StopIteration from None

    async def _next(self) -> Any:
        try:
            return await anext(self._stream)
        except StopAsyncIteration:
            raise LookupError from None

    def close(self) -> None:
        self._flavour.wait(self._stream.aclose())

    def __enter__(self) -> _FacedStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
