"""Sans-I/O core of the client: operations as generators of effects, which either client performs.

An operation is a generator. It yields effects (send this request, pause for a second) and receives their results. So
retries, logins and waiting for approval are written once for the blocking and the asynchronous client.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from doorward.core.wire.sse import EVENT_STREAM

T = TypeVar("T")

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Maximum bytes of one server-sent event."""


class Send(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request. The result is a `Reply`; with `listen` and a server that sends events, an `EventChannel`."""

    method: str
    path: str
    query: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    timeout: float | None = None
    """Seconds to wait for the response; None uses the client's timeout."""
    listen: bool = False

    def http_headers(self) -> dict[str, str]:
        """Return the headers to send, with those that follow from the other fields."""
        accept = f"{EVENT_STREAM}, application/json;q=0.5" if self.listen else "application/json"
        content = {} if self.body is None else {"Content-Type": "application/json"}
        return {"Accept": accept, **self.headers, **content}

    def http_query(self) -> dict[str, str]:
        """Return the query as text, without absent values."""
        return {
            key: str(value).lower() if isinstance(value, bool) else str(value)
            for key, value in self.query.items()
            if value is not None
        }

    def __repr__(self) -> str:
        """Without the token and the body, because reprs end up in logs."""
        return f"<Send {self.method} {self.path}>"


class Pause(msgspec.Struct, frozen=True):
    seconds: float


class NextEvent(msgspec.Struct, frozen=True):
    """Read the next event of a channel; the result is None when the server ended it."""

    channel: EventChannel


class CloseChannel(msgspec.Struct, frozen=True):
    channel: EventChannel


class WithLock(msgspec.Struct, frozen=True):
    """Run a flow under the client's lock."""

    flow: Generator[Any, Any, Any]


class Emit(msgspec.Struct, Generic[T], frozen=True):
    """A value for the caller who iterates."""

    value: T


Effect = Send | Pause | NextEvent | CloseChannel | WithLock
Flow = Generator[Effect, Any, T]
"""A generator of effects that returns a result."""
EmittingFlow = Generator[Effect | Emit[T], Any, None]
"""A generator of effects that emits values."""


class Reply(msgspec.Struct, frozen=True):
    """A complete HTTP response."""

    status: int
    headers: Mapping[str, str]
    """Names are in lower case."""
    body: bytes


def is_event_stream(status: int, headers: Mapping[str, str]) -> bool:
    return status == 200 and headers.get("content-type", "").startswith(EVENT_STREAM)


class EventChannel:
    """A response of server-sent events. Each client has its own subclass."""


class NoResponse(Exception):
    """There is no complete response. `sent` says whether the server may have received the request."""

    def __init__(self, reason: str, *, sent: bool, slow: bool = False, mute: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent
        self.timed_out = slow
        """Whether the request timed out."""
        self.not_http = mute
        """Whether the peer accepted the request but did not answer with HTTP."""


class FlowDriver(Generic[T]):
    """Drives a flow. `effect` is the effect to perform next; None once the `result` is there."""

    def __init__(self, flow: Generator[Effect | Emit[Any], Any, T]) -> None:
        self._flow = flow
        self.effect: Effect | Emit[Any] | None = None
        self.result: T
        self.send(None)

    def send(self, value: Any) -> None:
        """Pass the result of the effect to the flow."""
        try:
            self.effect = self._flow.send(value)
        except StopIteration as end:
            self.effect, self.result = None, end.value

    def throw(self, error: NoResponse) -> None:
        """Raise the failure of the effect in the flow."""
        try:
            self.effect = self._flow.throw(error)
        except StopIteration as end:
            self.effect, self.result = None, end.value
