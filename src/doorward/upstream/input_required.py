"""Requests that need input (`input_required`, since 2026-07-28): answer the server's questions and send them again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from doorward.core.errors import CommandFailed, Unreachable
from doorward.core.escape_invisible import escape_invisible
from doorward.core.wire.frames import WireError
from doorward.upstream import elicitation
from doorward.upstream.calls import CallHooks
from doorward.upstream.session import ServerError, Session

URL_REQUIRED_CODE = -32042
"""Error code of a 2025-11-25 server when a person must open a URL first."""
_MOST_ROUNDS = 10
_MOST_AT_ONCE = 10
_LONGEST_STATE = 256 * 1024
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
"""Seconds before a retry when a server only needs more time."""


async def request_with_input(
    session: Session, method: str, params: Mapping[str, Any], *, within: float, hooks: CallHooks | None, sampling: bool
) -> dict[str, Any]:
    """Send a request and return the final result, after at most ten rounds of questions to the caller."""
    try:
        result = await session.request(method, params, within=within, hooks=hooks)
    except ServerError as error:
        if error.number != URL_REQUIRED_CODE or not await _open_required_urls(session, error.data, hooks):
            raise
        result = await session.request(method, params, within=within, hooks=hooks)
    rest = _FIRST_PAUSE
    for _ in range(_MOST_ROUNDS):
        if not session.is_stateless or result.get("resultType", "complete") == "complete":
            return result
        if result["resultType"] != "input_required":
            kind = escape_invisible(str(result["resultType"])[:80])
            raise Unreachable(f"The server {session.name} answered {method} with the unknown result type {kind!r}.")
        wanted, state = result.get("inputRequests"), result.get("requestState")
        more: dict[str, Any] = {}
        if wanted:
            more["inputResponses"] = await _collect_responses(session, method, wanted, hooks, sampling)
        elif state is None:
            raise Unreachable(f"The server {session.name} requires input for {method} but does not say which.")
        else:
            await asyncio.sleep(rest)
            rest = min(rest * 2, _LONGEST_PAUSE)
        if state is not None:
            if type(state) is not str or len(state) > _LONGEST_STATE:
                raise Unreachable(
                    f"The server {session.name} sent an invalid `requestState`; valid: a text of at most"
                    f" {_LONGEST_STATE} characters."
                )
            more["requestState"] = state
        result = await session.request(method, {**params, **more}, within=within, hooks=hooks)
    if result.get("resultType", "complete") == "complete":
        return result
    raise CommandFailed(f"The server {session.name} asked for input {_MOST_ROUNDS} times without a result.")


async def _open_required_urls(session: Session, data: Any, hooks: CallHooks | None) -> bool:
    """Ask a person to open the URLs of a 2025-11-25 server; return whether they did."""
    places = data.get("elicitations") if type(data) is dict else None
    if type(places) is not list or not 0 < len(places) <= _MOST_AT_ONCE or hooks is None or hooks.ask is None:
        return False
    for place in places:
        if type(place) is not dict or place.get("mode") != "url":
            return False
        try:
            answer = await elicitation.answer_question(session, elicitation.ELICIT, place, hooks, False)
        except WireError:
            return False
        if answer["action"] != "accept":
            return False
    return True


async def _collect_responses(
    session: Session, method: str, wanted: Any, hooks: CallHooks | None, sampling: bool
) -> dict[str, Any]:
    if type(wanted) is not dict or len(wanted) > _MOST_AT_ONCE or not all(type(one) is dict for one in wanted.values()):
        raise Unreachable(
            f"The server {session.name} sent invalid `inputRequests` for {method}; valid: an object of at most"
            f" {_MOST_AT_ONCE} requests."
        )
    responses: dict[str, Any] = {}
    for key, one in wanted.items():  # in sequence, so that a person gets one question at a time
        asked, params = one.get("method"), one.get("params", {})
        if type(asked) is not str or type(params) is not dict:
            raise Unreachable(f"The server {session.name} sent an invalid input request for {method}.")
        try:
            responses[key] = await elicitation.answer_question(session, asked, params, hooks, sampling)
        except WireError as error:
            raise CommandFailed(
                f"The server {session.name} requires input before it answers {method}: {error.message}"
            ) from error
    return responses
