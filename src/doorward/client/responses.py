"""Decodes the server's responses: values, outcomes, events and errors."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

import msgspec

from doorward.client.effects import EventChannel, Reply
from doorward.client.outcome import Notice, Outcome, Parked, ServerEvent, error_from_code
from doorward.core import strictjson
from doorward.core.errors import DoorwardError, Failed, Unreachable, concrete_errors
from doorward.core.wire.sse import SseEvent

T = TypeVar("T")
_MAX_BYTES = 64 * 1024 * 1024
_MAX_DEPTH = 128
_FAILURE_CODES = {kind.code for kind in concrete_errors(Failed)}
_CODE_BY_STATUS = {401: "not_authenticated", 403: "not_permitted", 404: "not_found", 409: "conflict", 429: "too_fast"}
_PROBLEM_TYPE = "application/problem+json"


def decode_value(answer: Reply | EventChannel) -> Any:
    """Return the value of a successful response; raises the error of any other."""
    reply = _require_reply(answer)
    if reply.status == 202:
        raise Parked(_convert_outcome(_read_body(reply)))
    if 200 <= reply.status < 300:
        return _read_body(reply) if reply.body.strip() else None
    raise decode_error(reply)


def decode_outcome(answer: Reply | EventChannel) -> Outcome:
    """Return the outcome of a call, whatever the HTTP status."""
    reply = _require_reply(answer)
    if 200 <= reply.status < 300:
        return _convert_outcome(_read_body(reply))
    problem = _read_problem(reply)
    if problem is None or "outcome" not in problem:
        raise decode_error(reply)
    said = problem.get("detail", "")
    return _convert_outcome(
        {**problem, "status": problem["outcome"], "message": said, "text": f"Command failed: {said}"}
    )


def decode_error(reply: Reply) -> DoorwardError:
    """Return the error from the response's problem document, or else from its status."""
    problem = _read_problem(reply)
    if problem is None:
        if reply.status in range(300, 400):
            where = reply.headers.get("location", "nowhere")
            return Unreachable(
                f"The server redirects to {where[:200]}; redirects are not followed, to protect the token.",
                hint="If you trust that address, use it as the URL.",
            )
        begins = reply.body[:100].decode("utf-8", "replace")
        return Unreachable(
            f"The response, with status {reply.status}, is not from Doorward; it starts with {begins!r}.",
            hint="Check the URL: it may point to a proxy or another server.",
        )
    return error_from_code(
        problem.get("code", ""),
        problem.get("detail") or problem.get("title", ""),
        otherwise=_CODE_BY_STATUS.get(reply.status, "bad_params" if reply.status < 500 else "broken"),
        hint=problem.get("hint", ""),
        retry_after=problem.get("retryAfter"),
        rule=problem.get("rule", ""),
        result=problem.get("result"),
    )


def find_retry_after(reply: Reply) -> float | None:
    """Return the seconds after which a retry is safe and useful; None when the response gives no such time."""
    given = reply.headers.get("retry-after", "")
    if reply.status not in (429, 503) or not given.isdecimal():
        return None
    problem = _read_problem(reply)
    if problem is not None and (problem.get("code") in _FAILURE_CODES or problem.get("code") == "looping"):
        return None
    return float(problem["retryAfter"]) if problem is not None and "retryAfter" in problem else float(given)


def decode_notice(event: SseEvent) -> Notice | Outcome | None:
    """Decode an event of a running call; None for a kind that this version does not know."""
    said = read_event(event)
    if event.name == "outcome":
        return _convert_outcome(said.get("outcome"))
    try:
        known: Notice = msgspec.convert(said, Notice)
    except (msgspec.ValidationError, TypeError):
        return None
    return known


def decode_event(event: SseEvent) -> ServerEvent:
    """Decode a server event."""
    said = read_event(event)
    data = said.get("data", said)
    return ServerEvent(event.name, data if isinstance(data, dict) else {}, str(said.get("at", "")), event.id)


def read_event(event: SseEvent) -> dict[str, Any]:
    """Decode an event's data; raises the error of an `error` event."""
    said = _parse_json(event.data)
    if not isinstance(said, dict):
        raise Unreachable("An event of the response is not in Doorward's format.")
    if event.name == "error":
        raise error_from_code(said.get("code", ""), said.get("detail", ""), hint=said.get("hint", ""))
    return said


def raise_no_stream(reply: Reply) -> NoReturn:
    """Raise the error for a plain response where an event stream was expected."""
    raise decode_error(reply) if reply.status >= 300 else Unreachable("The server did not answer with an event stream.")


def _require_reply(answer: Reply | EventChannel) -> Reply:
    if isinstance(answer, Reply):
        return answer
    raise Unreachable("The server answered with an event stream instead of a single response.")


def convert(kind: type[T], said: Any) -> T:
    """Convert a part of a response to a type."""
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError as failure:
        raise Unreachable(f"The response is not in Doorward's format: {failure}.") from failure


def _convert_outcome(said: Any) -> Outcome:
    return convert(Outcome, said)


def _read_problem(reply: Reply) -> dict[str, Any] | None:
    """Return the response's problem document, if it is one."""
    if reply.headers.get("content-type", "").partition(";")[0] != _PROBLEM_TYPE:
        return None
    found = _read_body(reply)
    return found if isinstance(found, dict) else None


def _read_body(reply: Reply) -> Any:
    return _parse_json(reply.body)


def _parse_json(text: str | bytes) -> Any:
    try:
        return strictjson.loads(text, max_bytes=_MAX_BYTES, max_depth=_MAX_DEPTH)
    except strictjson.NotJson as failure:
        raise Unreachable(
            f"The response is not from Doorward: {failure}.",
            hint="Check the URL: it may point to a proxy or another server.",
        ) from failure
