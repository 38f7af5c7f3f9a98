"""Errors as problem details (RFC 9457). Every outcome code has a status and a title."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from doorward.core.errors import DoorwardError, Failed
from doorward.core.model import Outcome

MEDIA_TYPE = "application/problem+json"


class ProblemType(NamedTuple):
    """One kind of problem: its HTTP status, its code for programs and its title for people."""

    status: int
    code: str
    title: str

    def body(self, detail: str) -> bytes:
        """The JSON body. `detail` is the sentence about this request."""
        return msgspec.json.encode(
            {"type": "about:blank", "title": self.title, "status": self.status, "detail": detail, "code": self.code}
        )

    def encode_response(self, default_headers: Iterable[tuple[bytes, bytes]], detail: str) -> bytes:
        """The whole response, after which the connection is closed."""
        body = self.body(detail)
        fields = [
            *default_headers,
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
        ]
        if self.status in (429, 503):
            fields.append((b"retry-after", b"5"))
        return STATUS_LINE[self.status] + b"".join(b"%s: %s\r\n" % field for field in fields) + b"\r\n" + body


NOT_HTTP = ProblemType(400, "not_http", "The request is not valid HTTP")
OTHER_HOST = ProblemType(403, "other_host", "The Host header names another server")
OTHER_ORIGIN = ProblemType(403, "other_origin", "The request comes from a page of another origin")
FOREIGN_PAGE = ProblemType(403, "not_our_page", "The request does not come from the console")
TOO_SLOW = ProblemType(408, "too_slow", "The request took too long to arrive")
TOO_LARGE = ProblemType(413, "too_large", "The request is too large")
HEAD_TOO_LARGE = ProblemType(431, "head_too_large", "The request head is too large")
UNSUPPORTED_CODING = ProblemType(501, "no_such_coding", "The Transfer-Encoding is not supported")
TOO_MANY_CONNECTIONS = ProblemType(503, "too_many_connections", "Too many connections")
UNSUPPORTED_VERSION = ProblemType(505, "no_such_version", "The HTTP version is not supported")


HTTP_STATUS = {
    "ok": 200,
    "cached": 200,
    "dry_run": 200,
    "approval_needed": 202,
    "not_authenticated": 401,
    "unknown_command": 404,
    "bad_params": 400,
    "not_permitted": 403,
    "too_fast": 429,
    "looping": 429,
    "overloaded": 503,
    "out_of_energy": 429,
    "not_approved": 403,
    "not_found": 404,
    "conflict": 409,
    "withdrawn": 499,
    "sandbox_unavailable": 503,
    "ledger_unavailable": 503,
    "command_failed": 422,
    "timed_out": 504,
    "cancelled": 499,
    "unreachable": 502,
    "interrupted": 500,
    "unrecorded": 500,
    "broken": 500,
    "unusable": 500,
}


CHALLENGE = 'Bearer realm="doorward"'
_encode = msgspec.json.Encoder().encode

PROBLEM_TITLES = {
    "not_authenticated": "The caller is not authenticated",
    "unknown_command": "Unknown command",
    "bad_params": "The parameters are not valid",
    "not_permitted": "Not permitted",
    "too_fast": "Rate limit reached",
    "looping": "The same call was repeated too often",
    "overloaded": "Too many calls or connections at once",
    "out_of_energy": "The energy budget is used up",
    "not_approved": "Not approved",
    "not_found": "Not found",
    "conflict": "It has changed, or exists already",
    "withdrawn": "Cancelled before it started",
    "sandbox_unavailable": "The sandbox is not available",
    "ledger_unavailable": "The ledger record could not be stored",
    "command_failed": "The command failed",
    "timed_out": "Time limit reached",
    "cancelled": "Cancelled",
    "unreachable": "A service that it needs did not answer",
    "interrupted": "The server process died while it ran",
    "unrecorded": "It ran, but its ledger record could not be stored",
    "broken": "A defect in Doorward",
    "unusable": "This installation cannot be used in its current state",
}
"""Title of each code of the gate. A test proves that none is missing."""

HTTP_PROBLEMS = {
    one.code: one
    for one in (
        NOT_HTTP,
        OTHER_HOST,
        OTHER_ORIGIN,
        FOREIGN_PAGE,
        ProblemType(404, "no_such_path", "Unknown path"),
        ProblemType(405, "method_not_allowed", "The path does not accept this method"),
        ProblemType(406, "not_acceptable", "None of the accepted formats is available"),
        TOO_SLOW,
        ProblemType(409, "key_in_use", "A request with this key is still running"),
        ProblemType(409, "not_kept", "The first answer was not stored"),
        TOO_LARGE,
        ProblemType(415, "unsupported_media_type", "The body's format is not supported"),
        ProblemType(422, "key_reused", "The key belongs to another request"),
        HEAD_TOO_LARGE,
        UNSUPPORTED_CODING,
        TOO_MANY_CONNECTIONS,
        UNSUPPORTED_VERSION,
    )
}
"""Problems that occur before the gate decides anything."""


def problem_type(code: str) -> ProblemType:
    """The problem of an outcome code."""
    return ProblemType(HTTP_STATUS[code], code, PROBLEM_TITLES[code])


class HttpProblem(Exception):
    """A request that this door cannot accept."""

    def __init__(self, code: str, detail: str, *, headers: Mapping[str, str] | None = None, call: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})
        self.call = call

    def to_response(self) -> Response:
        status, _, title = HTTP_PROBLEMS[self.code]
        more = {"call": self.call} if self.call else {}
        return _response(status, {**_base_fields(self.code, title, status, self.detail), **more}, self.headers)


def error_response(error: DoorwardError) -> Response:
    """A response for an error without a call."""
    return _build_response(
        error.code,
        error.message,
        error.retry_after,
        outcome="failed" if isinstance(error, Failed) else "refused",
        retry=error.retry,
        effect=error.effect,
        hint=error.hint,
        rule=error.rule,
    )


def problem_response(outcome: Outcome) -> Response:
    """A response for a call that was refused or failed."""
    return _build_response(
        outcome.code,
        outcome.message,
        outcome.retry_after,
        outcome=outcome.status,
        retry=outcome.retry,
        effect=outcome.effect,
        hint=outcome.hint,
        rule=outcome.rule,
        call=outcome.call,
        command=outcome.command,
        result=outcome.result,
    )


def _build_response(code: str, detail: str, retry_after: float | None, **more: Any) -> Response:
    status = HTTP_STATUS[code]
    headers = {}
    if retry_after is not None:
        more["retryAfter"] = retry_after
        headers["Retry-After"] = str(max(1, math.ceil(retry_after)))
    if status == 401:
        headers["WWW-Authenticate"] = CHALLENGE
    shown = {key: value for key, value in more.items() if value not in (None, "")}
    return _response(status, {**_base_fields(code, PROBLEM_TITLES[code], status, detail), **shown}, headers)


def _base_fields(code: str, title: str, status: int, detail: str) -> dict[str, Any]:
    return {"type": f"/docs#{code}", "title": title, "status": status, "detail": detail, "code": code}


def _response(status: int, body: dict[str, Any], headers: Mapping[str, str]) -> Response:
    return Response(_encode(body), status, {"Cache-Control": "no-store", **headers}, MEDIA_TYPE)
