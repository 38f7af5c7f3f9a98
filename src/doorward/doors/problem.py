"""Problem details (RFC 9457) for requests that are refused before they reach a door."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

MEDIA_TYPE = "application/problem+json"


class Problem(NamedTuple):
    """One kind of problem: its HTTP status, its code for programs and its title for people."""

    status: int
    code: str
    title: str

    def body(self, detail: str) -> bytes:
        """The JSON body. `detail` is the sentence about this request."""
        return msgspec.json.encode(
            {"type": "about:blank", "title": self.title, "status": self.status, "detail": detail, "code": self.code}
        )


NOT_HTTP = Problem(400, "not_http", "The request is not valid HTTP")
OTHER_HOST = Problem(403, "other_host", "The Host header names another server")
OTHER_ORIGIN = Problem(403, "other_origin", "The request comes from a page of another origin")
NOT_OUR_PAGE = Problem(403, "not_our_page", "The request does not come from the console")
TOO_SLOW = Problem(408, "too_slow", "The request took too long to arrive")
TOO_LARGE = Problem(413, "too_large", "The request is too large")
HEAD_TOO_LARGE = Problem(431, "head_too_large", "The request head is too large")
NO_SUCH_CODING = Problem(501, "no_such_coding", "The Transfer-Encoding is not supported")
TOO_MANY = Problem(503, "too_many_connections", "Too many connections")
NO_SUCH_VERSION = Problem(505, "no_such_version", "The HTTP version is not supported")
