"""The head of a request: what forbids to take it, be it too much of it or two ways to read it, and what was read of it.

A client that stays sends the same few heads again and again, to the last byte. Reading each once is enough then.
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
"""How much of a request that was answered early is read past, so that its connection can be used again."""

Fault = tuple[Problem, str]


class Fields(list[tuple[bytes, bytes]]):
    """The fields of a head, and what applications have read from them, which is the same whenever the head is.

    Nothing may be noted here that anything but the bytes of the head decides.
    """

    __slots__ = ("passed", "read")

    def __init__(self) -> None:
        super().__init__()
        self.passed: object = None
        """The guard that let it pass."""
        self.read: Any = None
        """What the MCP endpoint has read."""


class Again(NamedTuple):
    """A head that came with a whole request in one piece."""

    head: int
    """How many bytes it has."""
    length: int
    """How many bytes the whole request had, body included, which its head tells."""
    scope: HTTPScope


class Known:
    """The heads of one connection, each by its bytes; few, as they differ only in the lengths of bodies."""

    __slots__ = ("_heads",)

    def __init__(self) -> None:
        self._heads: dict[bytes, Again] = {}

    def begun(self, data: bytes) -> Again | None:
        """The known head that these bytes begin with, if they are one whole request and nothing else."""
        again = self._heads.get(data[: data.find(_END) + len(_END)])
        return again if again is not None and again.length == len(data) else None

    def note(self, data: bytes, body: int, scope: HTTPScope) -> None:
        """Know a request by its head, if these bytes were one whole request with a body of the length it told."""
        size = len(data) - body
        told = [int(value) for name, value in scope["headers"] if name == b"content-length"]
        if told != [body] or data.find(_END) != size - len(_END):
            return
        if len(self._heads) >= _MOST_KNOWN:
            self._heads.clear()
        self._heads[data[:size]] = Again(size, len(data), scope.copy())


def fault(url: bytes, fields: Sequence[tuple[bytes, bytes]], version: str, chunked: bool, most: int) -> Fault | None:
    """The first thing that is wrong, where `fields` have lower-case names and `most` is the largest head in bytes."""
    size = len(url) + 4 * len(fields)
    for name, value in fields:
        size += len(name) + len(value)
    if len(fields) > MOST_FIELDS or size > most:
        return too_large(most)
    if version not in ("1.1", "1.0"):
        return NO_SUCH_VERSION, f"Requests must be of HTTP/1.1 or HTTP/1.0; given HTTP/{version}."
    if version == "1.0" and chunked:
        return NOT_HTTP, "A request of HTTP/1.0 cannot have a Transfer-Encoding."
    if not url.isascii() or b"#" in url:
        return NOT_HTTP, "The target of a request must be a path in ASCII, without a fragment."
    if not url.startswith(b"/") and url != b"*" and not _is_for_its_host(url, fields):
        return NOT_HTTP, "The target of a request must be a path, or a whole address of the same server as in Host."
    return None


def too_large(most: int) -> Fault:
    return HEAD_TOO_LARGE, f"The head of a request has at most {MOST_FIELDS} fields and {most} bytes."


def _is_for_its_host(url: bytes, fields: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether a target that is a whole address names just what the Host header names."""
    scheme, found, rest = url.partition(b"://")
    authority = rest.partition(b"/")[0].partition(b"?")[0]
    hosts = [value.lower() for name, value in fields if name == b"host"]
    return bool(found) and scheme.lower() == b"http" and [authority.lower()] == hosts


def ends_soon(fields: Sequence[tuple[bytes, bytes]], came: int) -> bool:
    """Whether only a little is missing of a request that is answered already, and of whose body so much came.

    It is read past: many clients send a body behind its head, and go on with the same connection after a refusal.
    """
    told = [int(value) for name, value in fields if name == b"content-length"]
    return len(told) == 1 and told[0] - came <= _SHORT_REST
