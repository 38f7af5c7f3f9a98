"""An incoming HTTP request of MCP: its headers, its body, and the rules that tie them.

The HTTP server below limits how long a body may take.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping

from starlette.types import Receive, Scope

from doorward.core.model import Credential
from doorward.core.wire import http as values
from doorward.core.wire.codes import HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, SUPPORTED
from doorward.core.wire.frames import WireError, WireRequest, failure
from doorward.core.wire.ids import Id
from doorward.core.wire.meta import RequestMeta
from doorward.doors.http import headers as media
from doorward.doors.http.headers import HeaderFields
from doorward.doors.mcp.authorization import read_bearer
from doorward.doors.mcp.versions import unsupported_version

_READ_HEADERS = frozenset(
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

SMALL_BODY = 65_536
"""Largest body, in bytes, that is read before authentication."""

JSON, EVENTS = "application/json", "text/event-stream"


class HttpRefusal(Exception):
    """An HTTP request that is refused before its body is parsed: a status and a message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def frame(self, id: Id | None) -> bytes:
        return failure(id, INVALID_REQUEST, self.message)


class RequestHead:
    """The parsed headers of a request. They depend on nothing else, so they are parsed once for all requests of a
    client with the same headers."""

    def __init__(self, headers: Mapping[bytes, bytes]) -> None:
        self.headers = headers
        self.principal: Hashable | None = None
        """The caller for which the bytes of such requests are counted. It proves nothing."""

    @functools.cached_property
    def credential(self) -> Credential:
        """The credential in the headers. It proves nothing yet: the gate verifies it with every request."""
        return read_bearer(self.headers)

    @functools.cached_property
    def accepts_events(self) -> bool:
        return accepts(self.headers, EVENTS)

    @functools.cached_property
    def may_post(self) -> bool:
        """True, or raises Turned."""
        check_post(self.headers)
        return True

    @functools.cached_property
    def is_small(self) -> bool:
        """Whether the announced body has at most SMALL bytes."""
        announced = self.headers.get(b"content-length", b"")
        return announced.isdigit() and len(announced) < 20 and int(announced) <= SMALL_BODY


def parse_head(scope: Scope) -> RequestHead:
    """The head of a request, reused from an earlier request with the same headers."""
    fields = scope["headers"]
    if type(fields) is not HeaderFields:
        return RequestHead(parse_headers(scope))
    if fields.read is None:
        fields.read = RequestHead(parse_headers(scope))
    head: RequestHead = fields.read
    return head


def parse_headers(scope: Scope) -> Mapping[bytes, bytes]:
    """The headers that the endpoint reads. A repeated header is refused, because it could be read in two ways."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _READ_HEADERS:
            if name not in found:
                found[name] = value.strip(b" \t")
            elif name == b"accept":
                found[name] += b"," + value
            else:
                raise HttpRefusal(400, f"The header {name.decode('latin-1')} is given twice; send it once.")
    return found


def accepts(headers: Mapping[bytes, bytes], kind: str) -> bool:
    """Whether the client accepts this media type; without an Accept header it accepts all."""
    return media.accept_quality(_value(headers, b"accept"), kind) > 0


def check_accepts(headers: Mapping[bytes, bytes], kind: str) -> None:
    if not accepts(headers, kind):
        given = _value(headers, b"accept")[:80]
        raise HttpRefusal(406, f"The Accept header must include {kind}; given {given!r}.")


def check_post(headers: Mapping[bytes, bytes]) -> None:
    kind, encoding = _value(headers, b"content-type"), _value(headers, b"content-encoding")
    if media.media_type(kind) != JSON:
        raise HttpRefusal(415, f"The Content-Type must be {JSON}; given {kind[:80]!r}.")
    if not media.is_utf_8(kind):
        raise HttpRefusal(415, f"The message must be in UTF-8; given the Content-Type {kind[:80]!r}.")
    if media.is_encoded(encoding):
        raise HttpRefusal(415, f"The message must not have a Content-Encoding; given {encoding[:40]!r}.")
    check_accepts(headers, JSON)


def _value(headers: Mapping[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1")


async def read_body(receive: Receive, head: RequestHead, most: int) -> bytes:
    announced = b"" if head.is_small else head.headers.get(b"content-length", b"")
    if announced.isdigit() and len(announced) < 20 and int(announced) > most:
        raise _too_large(most)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise _incomplete()
    if not message.get("more_body", False):
        whole: bytes = message.get("body", b"")
        if len(whole) > most:
            raise _too_large(most)
        return whole
    body = bytearray(message.get("body", b""))
    while message.get("more_body", False) and len(body) <= most:
        message = await receive()
        body += message.get("body", b"")
    if message["type"] == "http.disconnect" or len(body) > most:
        body.clear()  # the error holds on to this frame until the next garbage collection
        raise _incomplete() if message["type"] == "http.disconnect" else _too_large(most)
    return bytes(body)


def _incomplete() -> HttpRefusal:
    return HttpRefusal(400, "The client disconnected before it sent the whole request.")


def _too_large(most: int) -> HttpRefusal:
    return HttpRefusal(413, f"The request is too large; the limit is {most} bytes.")


NAME_PARAMS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The methods with the header Mcp-Name, and the parameter that it must match."""


def check_version(headers: Mapping[bytes, bytes], said: RequestMeta) -> None:
    version = headers.get(b"mcp-protocol-version")
    if version is None:
        raise _mismatch("the header MCP-Protocol-Version is missing")
    if said.version is not None and version.decode("latin-1") != said.version:
        raise _mismatch(f"the header MCP-Protocol-Version is {_quote(version)}, the body says {said.version[:80]!r}")


def check_supported(headers: Mapping[bytes, bytes]) -> None:
    """Refuse an unsupported version that only the header names, and list the supported ones."""
    version = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
    if version not in SUPPORTED:
        raise unsupported_version(version)


def check_headers(headers: Mapping[bytes, bytes], request: WireRequest) -> None:
    method = headers.get(b"mcp-method")
    if method is None:
        raise _mismatch("the header Mcp-Method is missing")
    if method != request.method.encode():
        raise _mismatch(f"the header Mcp-Method is {_quote(method)}, the body says {request.method[:80]!r}")
    key = NAME_PARAMS.get(request.method)
    if key is None:
        return
    named, header = request.params.get(key), headers.get(b"mcp-name")
    if header is None:
        raise _mismatch("the header Mcp-Name is missing")
    if type(named) is not str:
        raise WireError(INVALID_PARAMS, f"{request.method}: `{key}` is required and must be a string.")
    if named.isascii() and header == named.encode() and not named.startswith("=?"):
        return
    try:
        value = values.decode_header(header.decode("latin-1"))
    except ValueError as error:
        raise _mismatch(f"the header Mcp-Name is not valid: {error}") from error
    if value != named:
        raise _mismatch(f"the header Mcp-Name is {value[:80]!r}, the body says {named[:80]!r}")


def _quote(value: bytes) -> str:
    return repr(value[:80].decode("latin-1"))


def _mismatch(what: str) -> WireError:
    return WireError(HEADER_MISMATCH, f"Header mismatch: {what}.")
