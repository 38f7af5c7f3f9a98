"""An incoming HTTP request: its headers, each at most once, and its body, up to a limit.

The HTTP server below limits how long a body may take.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from starlette.types import Receive, Scope

from doorward.doors import media
from doorward.doors.heads import Fields
from doorward.doors.mcp.authorization import bearer
from doorward.model import Credential
from doorward.wire.codes import INVALID_REQUEST
from doorward.wire.frames import failure
from doorward.wire.ids import Id

_READ = frozenset(
    {
        b"accept",
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"host",
        b"mcp-method",
        b"mcp-name",
        b"mcp-protocol-version",
        b"mcp-session-id",
    }
)
"""The headers that the endpoint reads."""

SMALL = 65_536
"""Largest body, in bytes, that is read before authentication."""

JSON, EVENTS = "application/json", "text/event-stream"


class Turned(Exception):
    """An HTTP request that is refused before its body is parsed: a status and a message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def frame(self, id: Id | None) -> bytes:
        return failure(id, INVALID_REQUEST, self.message)


class Head:
    """The parsed headers of a request. They depend on nothing else, so they are parsed once for all requests of a
    client with the same headers."""

    def __init__(self, headers: Mapping[bytes, bytes]) -> None:
        self.headers = headers

    @functools.cached_property
    def credential(self) -> Credential:
        """The credential in the headers. It proves nothing yet: the gate verifies it with every request."""
        return bearer(self.headers)

    @functools.cached_property
    def takes_events(self) -> bool:
        return takes(self.headers, EVENTS)

    @functools.cached_property
    def may_post(self) -> bool:
        """True, or raises Turned."""
        check_post(self.headers)
        return True

    @functools.cached_property
    def is_small(self) -> bool:
        """Whether the announced body has at most SMALL bytes."""
        announced = self.headers.get(b"content-length", b"")
        return announced.isdigit() and len(announced) < 20 and int(announced) <= SMALL


def head_of(scope: Scope) -> Head:
    """The head of a request, reused from an earlier request with the same headers."""
    fields = scope["headers"]
    if type(fields) is not Fields:
        return Head(headers_of(scope))
    if fields.read is None:
        fields.read = Head(headers_of(scope))
    head: Head = fields.read
    return head


def headers_of(scope: Scope) -> Mapping[bytes, bytes]:
    """The headers that the endpoint reads. A repeated header is refused, because it could be read in two ways."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _READ:
            if name not in found:
                found[name] = value.strip(b" \t")
            elif name == b"accept":
                found[name] += b"," + value
            else:
                raise Turned(400, f"The header {name.decode('latin-1')} is given twice; send it once.")
    return found


def takes(headers: Mapping[bytes, bytes], kind: str) -> bool:
    """Whether the client accepts this media type; without an Accept header it accepts all."""
    return media.liking(_value(headers, b"accept"), kind) > 0


def check_takes(headers: Mapping[bytes, bytes], kind: str) -> None:
    if not takes(headers, kind):
        given = _value(headers, b"accept")[:80]
        raise Turned(406, f"The Accept header must include {kind}; given {given!r}.")


def check_post(headers: Mapping[bytes, bytes]) -> None:
    kind, encoding = _value(headers, b"content-type"), _value(headers, b"content-encoding")
    if media.plain(kind) != JSON:
        raise Turned(415, f"The Content-Type must be {JSON}; given {kind[:80]!r}.")
    if not media.is_utf_8(kind):
        raise Turned(415, f"The message must be in UTF-8; given the Content-Type {kind[:80]!r}.")
    if media.is_encoded(encoding):
        raise Turned(415, f"The message must not have a Content-Encoding; given {encoding[:40]!r}.")
    check_takes(headers, JSON)


def _value(headers: Mapping[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1")


async def body_of(receive: Receive, head: Head, most: int) -> bytes:
    announced = b"" if head.is_small else head.headers.get(b"content-length", b"")
    if announced.isdigit() and len(announced) < 20 and int(announced) > most:
        raise _too_large(most)
    message = await receive()
    if not message.get("more_body", False):
        return _whole(message, message.get("body", b""), most)
    body = bytearray(message.get("body", b""))
    while message.get("more_body", False):
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most:
            raise _too_large(most)
    return _whole(message, bytes(body), most)


def _whole(message: Mapping[str, object], body: bytes, most: int) -> bytes:
    if message["type"] == "http.disconnect":
        raise Turned(400, "The client disconnected before it sent the whole request.")
    if len(body) > most:
        raise _too_large(most)
    return body


def _too_large(most: int) -> Turned:
    return Turned(413, f"The request is too large; the limit is {most} bytes.")
