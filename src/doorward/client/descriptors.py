"""Descriptors that turn one generator into a blocking method and a coroutine method."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from doorward.client.effects import EmittingFlow, Flow

P = ParamSpec("P")
T = TypeVar("T")


class Stream(ABC, Iterator[T]):
    """An iterator over a running operation. Leaving the loop or the `with` block ends it."""

    @abstractmethod
    def close(self) -> None:
        """End the stream, and cancel what runs on the server only for it."""

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncStream(ABC, AsyncIterator[T]):
    """An asynchronous iterator over a running operation. Leaving the `async with` block ends it."""

    @abstractmethod
    async def aclose(self) -> None:
        """End the stream, and cancel what runs on the server only for it."""

    async def __aenter__(self) -> AsyncStream[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class BlockingClient(ABC):
    """Base of clients whose methods block."""

    @abstractmethod
    def _finish(self, flow: Flow[T]) -> T: ...

    @abstractmethod
    def _follow(self, flow: EmittingFlow[T]) -> Stream[T]: ...


class AwaitableClient(ABC):
    """Base of clients whose methods are awaited."""

    @abstractmethod
    async def _finish(self, flow: Flow[T]) -> T: ...

    @abstractmethod
    def _follow(self, flow: EmittingFlow[T]) -> AsyncStream[T]: ...


class operation(Generic[P, T]):
    """A method that returns one result."""

    def __init__(self, flow: Callable[Concatenate[Any, P], Flow[T]]) -> None:
        self.flow = flow
        self.__doc__ = flow.__doc__
        self.__wrapped__ = flow

    @overload
    def __get__(self, client: None, owner: object = None) -> operation[P, T]: ...
    @overload
    def __get__(self, client: BlockingClient, owner: object = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AwaitableClient, owner: object = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: BlockingClient | AwaitableClient | None, owner: object = None) -> Any:
        if client is None:
            return self

        @functools.wraps(self.flow)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client._finish(self.flow(client, *args, **kwargs))

        return method


class stream_operation(Generic[P, T]):
    """A method that returns a stream of results."""

    def __init__(self, flow: Callable[Concatenate[Any, P], EmittingFlow[T]]) -> None:
        self.flow = flow
        self.__doc__ = flow.__doc__
        self.__wrapped__ = flow

    @overload
    def __get__(self, client: None, owner: object = None) -> stream_operation[P, T]: ...
    @overload
    def __get__(self, client: BlockingClient, owner: object = None) -> Callable[P, Stream[T]]: ...
    @overload
    def __get__(self, client: AwaitableClient, owner: object = None) -> Callable[P, AsyncStream[T]]: ...
    def __get__(self, client: BlockingClient | AwaitableClient | None, owner: object = None) -> Any:
        if client is None:
            return self

        @functools.wraps(self.flow)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client._follow(self.flow(client, *args, **kwargs))

        return method
