"""What a client does, told without doing it: steps that a blocking and an awaiting client carry out alike.

An operation of the client is a generator. It yields what it wants done (send this, wait so long) and is given what came
of it, so that retries, logging in and waiting for people are written once, for both kinds of client.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class Send(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request. The answer is a `Reply`, or a `Channel` where `listen` asks for events and they come."""

    method: str
    path: str
    query: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    timeout: float | None = None
    """Seconds to wait for the answer; None leaves it to the client."""
    listen: bool = False

    def __repr__(self) -> str:
        """Without the token and what is sent: what is printed ends up in logs."""
        return f"<Send {self.method} {self.path}>"


class Pause(msgspec.Struct, frozen=True):
    seconds: float


class Next(msgspec.Struct, frozen=True):
    """The next event of a channel, or None when the server ended it."""

    channel: Channel


class Close(msgspec.Struct, frozen=True):
    channel: Channel


class Alone(msgspec.Struct, frozen=True):
    """Steps that no other call of the same client may take meanwhile."""

    flow: Generator[Any, Any, Any]


class Emit(msgspec.Struct, Generic[T], frozen=True):
    """Something for whoever iterates."""

    value: T


Effect = Send | Pause | Next | Close | Alone
Flow = Generator[Effect, Any, T]
"""Steps that end with a result."""
Emitting = Generator[Effect | Emit[T], Any, None]
"""Steps that give something on their way."""


class Reply(msgspec.Struct, frozen=True):
    """An answer that came whole."""

    status: int
    headers: Mapping[str, str]
    """Names in small letters."""
    body: bytes


class Channel:
    """An answer that goes on: server-sent events. Each kind of client has its own."""


class NoAnswer(Exception):
    """There is no whole answer. `sent` is whether the server may have got the request."""

    def __init__(self, reason: str, *, sent: bool, slow: bool = False, mute: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent
        self.slow = slow
        """Whether it merely took too long."""
        self.mute = mute
        """Whether something took the request, and said nothing that is HTTP."""


class Course(Generic[T]):
    """A flow on its way: `effect` is what it wants done now, and None once it has its `result`."""

    def __init__(self, flow: Generator[Effect | Emit[Any], Any, T]) -> None:
        self._flow = flow
        self.effect: Effect | Emit[Any] | None = None
        self.result: T
        self.answer(None)

    def answer(self, value: Any) -> None:
        """What came of the effect."""
        try:
            self.effect = self._flow.send(value)
        except StopIteration as end:
            self.effect, self.result = None, end.value

    def fail(self, error: NoAnswer) -> None:
        """The effect came to nothing."""
        try:
            self.effect = self._flow.throw(error)
        except StopIteration as end:
            self.effect, self.result = None, end.value
