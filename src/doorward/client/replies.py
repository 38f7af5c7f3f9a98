"""Decodes the server's responses: values, outcomes, events and errors."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

import msgspec

from doorward import strictjson
from doorward.client.eventstream import Event
from doorward.client.flows import Channel, Reply
from doorward.client.outcome import Happened, Notice, Outcome, Parked, told
from doorward.errors import DoorwardError, Failed, Unreachable, leaves

T = TypeVar("T")
_LARGEST = 64 * 1024 * 1024
_DEEPEST = 128
_FAILURES = {kind.code for kind in leaves(Failed)}
_BY_STATUS = {401: "not_authenticated", 403: "not_permitted", 404: "not_found", 409: "conflict", 429: "too_fast"}
_PROBLEM = "application/problem+json"


def value(answer: Reply | Channel) -> Any:
    """Return the value of a successful response; raises the error of any other."""
    reply = _whole(answer)
    if reply.status == 202:
        raise Parked(_outcome(_json(reply)))
    if 200 <= reply.status < 300:
        return _json(reply) if reply.body.strip() else None
    raise error(reply)


def outcome(answer: Reply | Channel) -> Outcome:
    """Return the outcome of a call, whatever the HTTP status."""
    reply = _whole(answer)
    if 200 <= reply.status < 300:
        return _outcome(_json(reply))
    problem = _problem(reply)
    if problem is None or "outcome" not in problem:
        raise error(reply)
    said = problem.get("detail", "")
    return _outcome({**problem, "status": problem["outcome"], "message": said, "text": f"Command failed: {said}"})


def error(reply: Reply) -> DoorwardError:
    """Return the error from the response's problem document, or else from its status."""
    problem = _problem(reply)
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
    return told(
        problem.get("code", ""),
        problem.get("detail") or problem.get("title", ""),
        otherwise=_BY_STATUS.get(reply.status, "bad_params" if reply.status < 500 else "broken"),
        hint=problem.get("hint", ""),
        retry_after=problem.get("retryAfter"),
        rule=problem.get("rule", ""),
        result=problem.get("result"),
    )


def retry_after(reply: Reply) -> float | None:
    """Return the seconds after which a retry is safe and useful; None when the response gives no such time."""
    given = reply.headers.get("retry-after", "")
    if reply.status not in (429, 503) or not given.isdecimal():
        return None
    problem = _problem(reply)
    if problem is not None and (problem.get("code") in _FAILURES or problem.get("code") == "looping"):
        return None
    return float(problem["retryAfter"]) if problem is not None and "retryAfter" in problem else float(given)


def notice(event: Event) -> Notice | Outcome | None:
    """Decode an event of a running call; None for a kind that this version does not know."""
    said = read(event)
    if event.name == "outcome":
        return _outcome(said.get("outcome"))
    try:
        known: Notice = msgspec.convert(said, Notice)
    except (msgspec.ValidationError, TypeError):
        return None
    return known


def happened(event: Event) -> Happened:
    """Decode a server event."""
    said = read(event)
    data = said.get("data", said)
    return Happened(event.name, data if isinstance(data, dict) else {}, str(said.get("at", "")), event.id)


def read(event: Event) -> dict[str, Any]:
    """Decode an event's data; raises the error of an `error` event."""
    said = _read(event.data)
    if not isinstance(said, dict):
        raise Unreachable("An event of the response is not in Doorward's format.")
    if event.name == "error":
        raise told(said.get("code", ""), said.get("detail", ""), hint=said.get("hint", ""))
    return said


def no_channel(reply: Reply) -> NoReturn:
    """Raise the error for a plain response where an event stream was expected."""
    raise error(reply) if reply.status >= 300 else Unreachable("The server did not answer with an event stream.")


def _whole(answer: Reply | Channel) -> Reply:
    if isinstance(answer, Reply):
        return answer
    raise Unreachable("The server answered with an event stream instead of a single response.")


def read_as(kind: type[T], said: Any) -> T:
    """Convert a part of a response to a type."""
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError as failure:
        raise Unreachable(f"The response is not in Doorward's format: {failure}.") from failure


def _outcome(said: Any) -> Outcome:
    return read_as(Outcome, said)


def _problem(reply: Reply) -> dict[str, Any] | None:
    """Return the response's problem document, if it is one."""
    if reply.headers.get("content-type", "").partition(";")[0] != _PROBLEM:
        return None
    found = _json(reply)
    return found if isinstance(found, dict) else None


def _json(reply: Reply) -> Any:
    return _read(reply.body)


def _read(text: str | bytes) -> Any:
    try:
        return strictjson.loads(text, max_bytes=_LARGEST, max_depth=_DEEPEST)
    except strictjson.NotJson as failure:
        raise Unreachable(
            f"The response is not from Doorward: {failure}.",
            hint="Check the URL: it may point to a proxy or another server.",
        ) from failure
