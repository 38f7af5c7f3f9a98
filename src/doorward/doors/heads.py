"""What forbids to take a request whose head has come: too much of it, or two ways to read it."""

from __future__ import annotations

from collections.abc import Sequence

from doorward.doors.problem import HEAD_TOO_LARGE, NO_SUCH_VERSION, NOT_HTTP, Problem

MOST_FIELDS = 100

Fault = tuple[Problem, str]


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
