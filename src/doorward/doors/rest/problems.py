"""Errors as problem details (RFC 9457). Every code has a status and a title."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from doorward.doors.problem import (
    HEAD_TOO_LARGE,
    MEDIA_TYPE,
    NO_SUCH_CODING,
    NO_SUCH_VERSION,
    NOT_HTTP,
    NOT_OUR_PAGE,
    OTHER_HOST,
    OTHER_ORIGIN,
    TOO_LARGE,
    TOO_MANY,
    TOO_SLOW,
    Problem,
)
from doorward.doors.statuses import HTTP_STATUS
from doorward.errors import DoorwardError, Failed
from doorward.model import Outcome

CHALLENGE = 'Bearer realm="doorward"'
_encode = msgspec.json.Encoder().encode

TITLES = {
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

OF_HTTP = {
    one.code: one
    for one in (
        NOT_HTTP,
        OTHER_HOST,
        OTHER_ORIGIN,
        NOT_OUR_PAGE,
        Problem(404, "no_such_path", "Unknown path"),
        Problem(405, "method_not_allowed", "The path does not accept this method"),
        Problem(406, "not_acceptable", "None of the accepted formats is available"),
        TOO_SLOW,
        Problem(409, "key_in_use", "A request with this key is still running"),
        Problem(409, "not_kept", "The first answer was not stored"),
        TOO_LARGE,
        Problem(415, "unsupported_media_type", "The body's format is not supported"),
        Problem(422, "key_reused", "The key belongs to another request"),
        HEAD_TOO_LARGE,
        NO_SUCH_CODING,
        TOO_MANY,
        NO_SUCH_VERSION,
    )
}
"""Problems that occur before the gate decides anything."""


class HttpProblem(Exception):
    """A request that this door cannot accept."""

    def __init__(self, code: str, detail: str, *, headers: Mapping[str, str] | None = None, call: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})
        self.call = call

    def response(self) -> Response:
        status, _, title = OF_HTTP[self.code]
        more = {"call": self.call} if self.call else {}
        return _response(status, {**_basics(self.code, title, status, self.detail), **more}, self.headers)


def of_error(error: DoorwardError) -> Response:
    """A response for an error without a call."""
    return _of(
        error.code,
        error.message,
        error.retry_after,
        outcome="failed" if isinstance(error, Failed) else "refused",
        retry=error.retry,
        effect=error.effect,
        hint=error.hint,
        rule=error.rule,
    )


def of_outcome(outcome: Outcome) -> Response:
    """A response for a call that was refused or failed."""
    return _of(
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


def _of(code: str, detail: str, retry_after: float | None, **more: Any) -> Response:
    status = HTTP_STATUS[code]
    headers = {}
    if retry_after is not None:
        more["retryAfter"] = retry_after
        headers["Retry-After"] = str(max(1, math.ceil(retry_after)))
    if status == 401:
        headers["WWW-Authenticate"] = CHALLENGE
    shown = {key: value for key, value in more.items() if value not in (None, "")}
    return _response(status, {**_basics(code, TITLES[code], status, detail), **shown}, headers)


def _basics(code: str, title: str, status: int, detail: str) -> dict[str, Any]:
    return {"type": f"/docs#{code}", "title": title, "status": status, "detail": detail, "code": code}


def _response(status: int, body: dict[str, Any], headers: Mapping[str, str]) -> Response:
    return Response(_encode(body), status, {"Cache-Control": "no-store", **headers}, MEDIA_TYPE)
