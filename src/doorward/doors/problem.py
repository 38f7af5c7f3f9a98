"""What is wrong with a request before any door looks at it, as problem details (RFC 9457)."""

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
        """As it is sent; `detail` is the sentence about this very request."""
        return msgspec.json.encode(
            {"type": "about:blank", "title": self.title, "status": self.status, "detail": detail, "code": self.code}
        )


NOT_HTTP = Problem(400, "not_http", "The request is not valid HTTP")
OTHER_HOST = Problem(403, "other_host", "The request is for another server")
OTHER_ORIGIN = Problem(403, "other_origin", "The request comes from a page of another site")
NOT_OUR_PAGE = Problem(403, "not_our_page", "The request does not come from the console's page")
TOO_SLOW = Problem(408, "too_slow", "The request did not come in time")
TOO_LARGE = Problem(413, "too_large", "The request is too large")
HEAD_TOO_LARGE = Problem(431, "head_too_large", "The head of the request is too large")
NO_SUCH_CODING = Problem(501, "no_such_coding", "The coding of the body is not known here")
TOO_MANY = Problem(503, "too_many_connections", "There are too many connections")
NO_SUCH_VERSION = Problem(505, "no_such_version", "This version of HTTP is not spoken here")
