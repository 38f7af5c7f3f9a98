"""A request in several rounds, since 2026-07-28: the server says what it must know first, and is then asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from doorward.errors import CommandFailed, Unreachable
from doorward.upstream import asking
from doorward.upstream.answering import Hooks
from doorward.upstream.session import Said, Session
from doorward.visible import visible
from doorward.wire.frames import WireError

ELSEWHERE_FIRST = -32042
"""The code with which a server of 2025-11-25 says that a person must go to an address before it can answer."""
_MOST_ROUNDS = 10
_MOST_AT_ONCE = 10
_LONGEST_STATE = 256 * 1024
_FIRST_REST, _LONGEST_REST = 0.05, 1.0
"""Seconds before the same is asked again of a server that only wants more time."""


async def request(
    session: Session, method: str, params: Mapping[str, Any], *, within: float, hooks: Hooks | None, sampling: bool
) -> dict[str, Any]:
    """The final result, after at most ten rounds. What the server asks goes to whoever made the call."""
    try:
        result = await session.request(method, params, within=within, hooks=hooks)
    except Said as error:
        if error.number != ELSEWHERE_FIRST or not await _went_there(session, error.data, hooks):
            raise
        result = await session.request(method, params, within=within, hooks=hooks)
    rest = _FIRST_REST
    for _ in range(_MOST_ROUNDS):
        if not session.modern or result.get("resultType", "complete") == "complete":
            return result
        if result["resultType"] != "input_required":
            kind = visible(str(result["resultType"])[:80])
            raise Unreachable(f"The server {session.name} answered {method} with an unknown kind of result, {kind!r}.")
        wanted, state = result.get("inputRequests"), result.get("requestState")
        more: dict[str, Any] = {}
        if wanted:
            more["inputResponses"] = await _responses(session, method, wanted, hooks, sampling)
        elif state is None:
            raise Unreachable(f"The server {session.name} wants input for {method} and does not say which.")
        else:
            await asyncio.sleep(rest)
            rest = min(rest * 2, _LONGEST_REST)
        if state is not None:
            if type(state) is not str or len(state) > _LONGEST_STATE:
                raise Unreachable(
                    f"The server {session.name} sent a `requestState` that is no text of at most {_LONGEST_STATE}"
                    " characters."
                )
            more["requestState"] = state
        result = await session.request(method, {**params, **more}, within=within, hooks=hooks)
    if result.get("resultType", "complete") == "complete":
        return result
    raise CommandFailed(f"The server {session.name} asked for input {_MOST_ROUNDS} times and did not come to an end.")


async def _went_there(session: Session, data: Any, hooks: Hooks | None) -> bool:
    """Ask a person to go where a server of 2025-11-25 sends them before it answers; whether they did."""
    places = data.get("elicitations") if type(data) is dict else None
    if type(places) is not list or not 0 < len(places) <= _MOST_AT_ONCE or hooks is None or hooks.ask is None:
        return False
    for place in places:
        if type(place) is not dict or place.get("mode") != "url":
            return False
        try:
            answer = await asking.answered(session, asking.ELICIT, place, hooks, False)
        except WireError:
            return False
        if answer["action"] != "accept":
            return False
    return True


async def _responses(session: Session, method: str, wanted: Any, hooks: Hooks | None, sampling: bool) -> dict[str, Any]:
    if type(wanted) is not dict or len(wanted) > _MOST_AT_ONCE or not all(type(one) is dict for one in wanted.values()):
        raise Unreachable(
            f"The server {session.name} wants input for {method} in a form that is none: `inputRequests` must be an"
            f" object of at most {_MOST_AT_ONCE} requests."
        )
    responses: dict[str, Any] = {}
    for key, one in wanted.items():  # one after the other: a person is asked one question at a time
        asked, params = one.get("method"), one.get("params", {})
        if type(asked) is not str or type(params) is not dict:
            raise Unreachable(f"The server {session.name} wants input for {method} by a request that is none.")
        try:
            responses[key] = await asking.answered(session, asked, params, hooks, sampling)
        except WireError as error:
            raise CommandFailed(
                f"The server {session.name} asks for something before it answers {method}: {error.message}"
            ) from error
    return responses
