"""An operation is declared once; on a blocking client it is a method that returns, on an awaiting one a coroutine."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from doorward.client.flows import Emitting, Flow

P = ParamSpec("P")
T = TypeVar("T")


class Stream(ABC, Iterator[T]):
    """Something that goes on, one piece after the other. Leaving the loop, or the `with` block, ends it."""

    @abstractmethod
    def close(self) -> None:
        """End it now; what runs on the server only for this stream is cancelled."""

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncStream(ABC, AsyncIterator[T]):
    """Something that goes on, one piece after the other. Leaving the `async with` block ends it."""

    @abstractmethod
    async def aclose(self) -> None:
        """End it now; what runs on the server only for this stream is cancelled."""

    async def __aenter__(self) -> AsyncStream[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Blocking(ABC):
    """A client whose methods return when they are done."""

    @abstractmethod
    def _finish(self, flow: Flow[T]) -> T: ...

    @abstractmethod
    def _follow(self, flow: Emitting[T]) -> Stream[T]: ...


class Awaiting(ABC):
    """A client whose methods are awaited."""

    @abstractmethod
    async def _finish(self, flow: Flow[T]) -> T: ...

    @abstractmethod
    def _follow(self, flow: Emitting[T]) -> AsyncStream[T]: ...


class operation(Generic[P, T]):
    """A method that sends and is answered."""

    def __init__(self, flow: Callable[Concatenate[Any, P], Flow[T]]) -> None:
        self.flow = flow
        self.__doc__ = flow.__doc__
        self.__wrapped__ = flow

    @overload
    def __get__(self, client: None, owner: object = None) -> operation[P, T]: ...
    @overload
    def __get__(self, client: Blocking, owner: object = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaiting, owner: object = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Blocking | Awaiting | None, owner: object = None) -> Any:
        if client is None:
            return self

        @functools.wraps(self.flow)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client._finish(self.flow(client, *args, **kwargs))

        return method


class streaming(Generic[P, T]):
    """A method whose answer is iterated."""

    def __init__(self, flow: Callable[Concatenate[Any, P], Emitting[T]]) -> None:
        self.flow = flow
        self.__doc__ = flow.__doc__
        self.__wrapped__ = flow

    @overload
    def __get__(self, client: None, owner: object = None) -> streaming[P, T]: ...
    @overload
    def __get__(self, client: Blocking, owner: object = None) -> Callable[P, Stream[T]]: ...
    @overload
    def __get__(self, client: Awaiting, owner: object = None) -> Callable[P, AsyncStream[T]]: ...
    def __get__(self, client: Blocking | Awaiting | None, owner: object = None) -> Any:
        if client is None:
            return self

        @functools.wraps(self.flow)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client._follow(self.flow(client, *args, **kwargs))

        return method
