"""Errors as problem details (RFC 9457): every code has a title, a status and a sentence of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from doorward.doors import problem
from doorward.doors.problem import MEDIA_TYPE, Problem
from doorward.doors.statuses import HTTP_STATUS
from doorward.errors import DoorwardError, Failed
from doorward.model import Outcome

CHALLENGE = 'Bearer realm="doorward"'
_encode = msgspec.json.Encoder().encode

TITLES = {
    "not_authenticated": "Nobody vouches for the caller",
    "unknown_command": "There is no such command",
    "bad_params": "The parameters do not fit",
    "not_permitted": "This is not permitted",
    "too_fast": "A limit is used up",
    "looping": "The same call again and again",
    "overloaded": "No free place to run or to wait",
    "out_of_energy": "The pool of energy is empty",
    "not_approved": "No person said yes to this",
    "not_found": "There is no such thing",
    "conflict": "It changed since, or exists already",
    "withdrawn": "It was cancelled while it waited",
    "sandbox_unavailable": "Programs may not run here",
    "ledger_unavailable": "The record could not be stored",
    "command_failed": "The command failed",
    "timed_out": "It took longer than it may",
    "cancelled": "It was stopped",
    "unreachable": "Something it needs did not answer",
    "interrupted": "The process died in the middle",
    "unrecorded": "It ran, but its record could not be stored",
    "broken": "A defect of Doorward's",
    "unusable": "This installation cannot be used as it is",
}
"""What each code of the gate means, in a few words; a test proves that none is missing."""

OF_HTTP = {
    one.code: one
    for one in (
        problem.NOT_HTTP,
        problem.OTHER_HOST,
        problem.OTHER_ORIGIN,
        problem.NOT_OUR_PAGE,
        Problem(404, "no_such_path", "There is no such path"),
        Problem(405, "method_not_allowed", "This path does not take that method"),
        Problem(406, "not_acceptable", "None of the accepted formats is offered"),
        problem.TOO_SLOW,
        Problem(409, "key_in_use", "A request with this key is on its way"),
        Problem(409, "not_kept", "The first answer is not kept"),
        problem.TOO_LARGE,
        Problem(415, "unsupported_media_type", "The body's format is not taken"),
        Problem(422, "key_reused", "The key belongs to another request"),
        problem.HEAD_TOO_LARGE,
        problem.NO_SUCH_CODING,
        problem.TOO_MANY,
        problem.NO_SUCH_VERSION,
    )
}
"""What goes wrong before there is anything for the gate to decide, here or already at the listener."""


class HttpProblem(Exception):
    """A request that is no well-formed request of this door."""

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
    """An error that no call stands behind."""
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
    """What was refused or failed."""
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
