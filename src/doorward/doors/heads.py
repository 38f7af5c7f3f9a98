"""Request heads: checks for size and ambiguity, and a cache of parsed heads.

A client that keeps its connection sends the same few heads again, byte for byte. Parsing each one once is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from uvicorn._types import HTTPScope

from doorward.doors.problem import HEAD_TOO_LARGE, NO_SUCH_VERSION, NOT_HTTP, Problem

MOST_FIELDS = 100
_END = b"\r\n\r\n"
_MOST_KNOWN = 16
_SHORT_REST = 65_536
"""Bytes of an early-answered request that are skipped, so that its connection can be reused."""

Fault = tuple[Problem, str]


class Fields(list[tuple[bytes, bytes]]):
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


class Again(NamedTuple):
    """The head of a request that arrived in one piece."""

    head: int
    """The length of the head in bytes."""
    length: int
    """The length of the whole request in bytes, as its head announces it."""
    scope: HTTPScope


class Known:
    """Cache of one connection's heads by their bytes. They are few, because only the content length varies."""

    __slots__ = ("_heads",)

    def __init__(self) -> None:
        self._heads: dict[bytes, Again] = {}

    def begun(self, data: bytes) -> Again | None:
        """The cached head that these bytes begin with, if they are exactly one whole request."""
        again = self._heads.get(data[: data.find(_END) + len(_END)])
        return again if again is not None and again.length == len(data) else None

    def note(self, data: bytes, body: int, scope: HTTPScope) -> None:
        """Cache the head of a request, if these bytes were exactly one request of the announced length."""
        size = len(data) - body
        told = [int(value) for name, value in scope["headers"] if name == b"content-length"]
        if told != [body] or data.find(_END) != size - len(_END):
            return
        if len(self._heads) >= _MOST_KNOWN:
            self._heads.clear()
        self._heads[data[:size]] = Again(size, len(data), scope.copy())


def fault(url: bytes, fields: Sequence[tuple[bytes, bytes]], version: str, chunked: bool, most: int) -> Fault | None:
    """The first fault of a head, or None. Names in `fields` are lower-case; `most` is the size limit in bytes."""
    size = len(url) + 4 * len(fields)
    for name, value in fields:
        size += len(name) + len(value)
    if len(fields) > MOST_FIELDS or size > most:
        return too_large(most)
    if version not in ("1.1", "1.0"):
        return NO_SUCH_VERSION, f"The HTTP version must be 1.1 or 1.0; given {version}."
    if version == "1.0" and chunked:
        return NOT_HTTP, "An HTTP/1.0 request cannot have a Transfer-Encoding."
    if not url.isascii() or b"#" in url:
        return NOT_HTTP, "The request target must be an ASCII path without a fragment."
    if not url.startswith(b"/") and url != b"*" and not _is_for_its_host(url, fields):
        return NOT_HTTP, "The request target must be a path, or a URL whose host equals the Host header."
    return None


def too_large(most: int) -> Fault:
    return HEAD_TOO_LARGE, f"A request may have at most {MOST_FIELDS} header fields and {most} bytes of head."


def _is_for_its_host(url: bytes, fields: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether an absolute request target names the same server as the Host header."""
    scheme, found, rest = url.partition(b"://")
    authority = rest.partition(b"/")[0].partition(b"?")[0]
    hosts = [value.lower() for name, value in fields if name == b"host"]
    return bool(found) and scheme.lower() == b"http" and [authority.lower()] == hosts


def ends_soon(fields: Sequence[tuple[bytes, bytes]], came: int) -> bool:
    """Whether little of the body is missing, given the `came` bytes received so far.

    The rest is then skipped, because many clients send the whole body and reuse the connection after a refusal.
    """
    told = [int(value) for name, value in fields if name == b"content-length"]
    return len(told) == 1 and told[0] - came <= _SHORT_REST
