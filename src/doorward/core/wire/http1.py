"""HTTP/1.1 as a client speaks it, without a transport: requests are encoded, responses parsed from pieces."""

from __future__ import annotations

import re
from collections.abc import Mapping

import httptools
import msgspec

_LARGEST_HEAD = 64 * 1024
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff\t]*")


class ResponseHead(msgspec.Struct, frozen=True):
    """Status and headers of a response. Header names are lower case; values of repeated headers are joined."""

    status: int
    headers: Mapping[str, str]


class InvalidHeader(ValueError):
    """A header has characters that are invalid in HTTP. The message is its name."""


class BadResponse(ValueError):
    """The bytes are not a response. The message completes a sentence about the server: "it …"."""


def encode_request(method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise InvalidHeader(name)
        lines.append(f"{name}: {value}")
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


class ResponseParser:
    """Parses one response from bytes that arrive in arbitrary pieces."""

    def __init__(self) -> None:
        self.head: ResponseHead | None = None
        """None until the headers are complete."""
        self.is_complete = False
        self.keep_alive = False
        """Whether the connection can carry another request after this response."""
        self._parser = httptools.HttpResponseParser(self)
        self._fields: dict[str, str] = {}
        self._head_bytes = 0
        self._interim = False
        self._until_eof = False
        self._body: list[bytes] = []

    def feed(self, data: bytes) -> None:
        """Parse the next bytes. BadResponse is final."""
        if self.head is None:
            if self._head_bytes > _LARGEST_HEAD:
                raise BadResponse(f"the headers of its response are larger than {_LARGEST_HEAD} bytes")
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as error:
            raise BadResponse("it requests another protocol than HTTP/1.1") from error
        except httptools.HttpParserError as error:
            raise BadResponse("its response is not HTTP/1.1") from error

    def feed_eof(self) -> None:
        """Note the end of the connection, which also ends a body without a declared length."""
        if self._until_eof:
            self.is_complete = True

    def take_body(self) -> list[bytes]:
        """Return the parts of the body that were parsed since the last time."""
        body, self._body = self._body, []
        return body

    # Callbacks of httptools

    def on_message_begin(self) -> None:
        """A second response that nobody requested: the connection cannot be used again."""
        if self.is_complete:
            self.keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        self._fields[key] = f"{self._fields[key]}, {text}" if key in self._fields else text

    def on_headers_complete(self) -> None:
        status, fields = self._parser.get_status_code(), self._fields
        self._fields = {}
        self._interim = 100 <= status < 200
        if self._interim or self.head is not None:
            return
        has_length = "content-length" in fields or "chunked" in fields.get("transfer-encoding", "")
        self._until_eof = not has_length and status not in (204, 304)
        self.keep_alive = self._parser.should_keep_alive() and not self._until_eof
        self.head = ResponseHead(status, fields)

    def on_body(self, body: bytes) -> None:
        if not self.is_complete:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
        else:
            self.is_complete = True
