"""Request headers: checks for size and ambiguity, a cache of parsed heads, and media types.

A client that keeps its connection sends the same few heads again, byte for byte. Parsing each one once is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from uvicorn._types import HTTPScope

from doorward.doors.http.problems import HEAD_TOO_LARGE, NOT_HTTP, UNSUPPORTED_VERSION, ProblemType

MAX_FIELDS = 100
_HEAD_END = b"\r\n\r\n"
_MAX_CACHED = 16
_MAX_SKIPPED = 65_536
"""Bytes of an early-answered request that are skipped, so that its connection can be reused."""

HeadFault = tuple[ProblemType, str]


class HeaderFields(list[tuple[bytes, bytes]]):
    """Header fields, with values that applications derived from them.

    These objects are reused for identical heads, so store only values that depend on nothing but the head's bytes.
    """

    __slots__ = ("passed", "read")

    def __init__(self) -> None:
        super().__init__()
        self.passed: object = None
        """The guard that accepted this head."""
        self.read: Any = None
        """The value that the MCP endpoint parsed from it."""


class CachedHead(NamedTuple):
    """The head of a request that arrived in one piece."""

    head: int
    """The length of the head in bytes."""
    length: int
    """The length of the whole request in bytes, as its head announces it."""
    scope: HTTPScope


class HeadCache:
    """Cache of one connection's heads by their bytes. They are few, because only the content length varies."""

    __slots__ = ("_heads",)

    def __init__(self) -> None:
        self._heads: dict[bytes, CachedHead] = {}

    def match(self, data: bytes) -> CachedHead | None:
        """The cached head that these bytes begin with, if they are exactly one whole request."""
        again = self._heads.get(data[: data.find(_HEAD_END) + len(_HEAD_END)])
        return again if again is not None and again.length == len(data) else None

    def add(self, data: bytes, body: int, scope: HTTPScope) -> None:
        """Cache the head of a request, if these bytes were exactly one request of the announced length."""
        size = len(data) - body
        told = [int(value) for name, value in scope["headers"] if name == b"content-length"]
        if told != [body] or data.find(_HEAD_END) != size - len(_HEAD_END):
            return
        if len(self._heads) >= _MAX_CACHED:
            self._heads.clear()
        self._heads[data[:size]] = CachedHead(size, len(data), scope.copy())


def find_fault(
    url: bytes, fields: Sequence[tuple[bytes, bytes]], version: str, chunked: bool, most: int
) -> HeadFault | None:
    """The first fault of a head, or None. Names in `fields` are lower-case; `most` is the size limit in bytes."""
    size = len(url) + 4 * len(fields)
    for name, value in fields:
        size += len(name) + len(value)
    if len(fields) > MAX_FIELDS or size > most:
        return head_too_large(most)
    if version not in ("1.1", "1.0"):
        return UNSUPPORTED_VERSION, f"The HTTP version must be 1.1 or 1.0; given {version}."
    if version == "1.0" and chunked:
        return NOT_HTTP, "An HTTP/1.0 request cannot have a Transfer-Encoding."
    if not url.isascii() or b"#" in url:
        return NOT_HTTP, "The request target must be an ASCII path without a fragment."
    if not url.startswith(b"/") and url != b"*" and not _matches_host(url, fields):
        return NOT_HTTP, "The request target must be a path, or a URL whose host equals the Host header."
    return None


def head_too_large(most: int) -> HeadFault:
    return HEAD_TOO_LARGE, f"A request may have at most {MAX_FIELDS} header fields and {most} bytes of head."


def _matches_host(url: bytes, fields: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether an absolute request target names the same server as the Host header."""
    scheme, found, rest = url.partition(b"://")
    authority = rest.partition(b"/")[0].partition(b"?")[0]
    hosts = [value.lower() for name, value in fields if name == b"host"]
    return bool(found) and scheme.lower() == b"http" and [authority.lower()] == hosts


def is_nearly_complete(fields: Sequence[tuple[bytes, bytes]], came: int) -> bool:
    """Whether little of the body is missing, given the `came` bytes received so far.

    The rest is then skipped, because many clients send the whole body and reuse the connection after a refusal.
    """
    told = [int(value) for name, value in fields if name == b"content-length"]
    return len(told) == 1 and told[0] - came <= _MAX_SKIPPED


_UTF_8 = frozenset({"", "utf-8", "utf8"})


def accept_quality(accept: str, kind: str) -> float:
    """The quality (0 to 1) that an Accept header gives a media type. The most specific range counts; an empty header
    accepts everything."""
    if not accept.strip():
        return 1.0
    liked = [_parse_range(part) for part in accept.split(",")]
    for form in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        found = [weight for named, weight in liked if named == form]
        if found:
            return max(found)
    return 0.0


def media_type(content_type: str) -> str:
    """The media type of a Content-Type header, without parameters."""
    return content_type.partition(";")[0].strip().lower()


def is_utf_8(content_type: str) -> bool:
    """Whether a Content-Type header names UTF-8 or no charset."""
    options = (part.partition("=") for part in content_type.split(";")[1:])
    return all(
        value.strip().strip('"').lower() in _UTF_8 for name, _, value in options if name.strip().lower() == "charset"
    )


def is_encoded(content_encoding: str) -> bool:
    """Whether a Content-Encoding header says that the body is compressed or otherwise encoded."""
    return content_encoding.strip().lower() not in ("", "identity")


def _parse_range(text: str) -> tuple[str, float]:
    """One range of an Accept header, with its quality."""
    kind, *options = [part.strip().lower() for part in text.split(";")]
    weight = next((option[2:] for option in options if option.startswith("q=")), "1")
    try:
        return kind, min(1.0, max(0.0, float(weight)))
    except ValueError:
        return kind, 0.0
