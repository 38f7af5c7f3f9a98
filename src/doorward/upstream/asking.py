"""What a server wants to know in the middle of a call: from a person, or from a model.

Up to 2025-11-25 it sends a request of its own; since 2026-07-28 its result says what is missing. What may be asked, and
how an answer is written, is the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from doorward.upstream.answering import Hooks, Wanted
from doorward.visible import visible
from doorward.wire.codes import INVALID_PARAMS, METHOD_NOT_FOUND
from doorward.wire.frames import Request, WireError, answer, failure

if TYPE_CHECKING:
    from doorward.upstream.session import Session

ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"

REFUSED = -1
"""The code with which clients say that a person, or an operator, does not want a model to be asked."""
_LONGEST = 10_000
"""Characters of what people are asked, so that nobody approves what they were not shown whole."""

_NO_SAMPLING = "sampling is not allowed here: the operator of this gateway has not switched it on for this server"


def capabilities(sampling: bool) -> dict[str, Any]:
    """What we tell a server that it may ask for. We have no roots: what it may reach is for its operator to say."""
    told: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
    if sampling:
        told["sampling"] = {}
    return told


async def answered(
    session: Session, method: str, params: Mapping[str, Any], hooks: Hooks | None, sampling: bool
) -> dict[str, Any]:
    """The result for the server; a WireError says why it gets none.

    Whoever is asked is not shown the secrets that the server was given, should it repeat them.
    """
    server, params = session.name, session.discretion.hiding(params)
    if method == ELICIT:
        return await _elicited(server, params, hooks)
    if method == SAMPLE:
        if not sampling:
            raise WireError(METHOD_NOT_FOUND, f"{SAMPLE}: {_NO_SAMPLING}.")
        return await _sampled(server, params, hooks)
    raise WireError(METHOD_NOT_FOUND, f"{visible(method[:80])}: this client answers only {ELICIT}, {SAMPLE} and ping.")


def over(request: Request) -> bytes:
    """What a server is told of a question that nobody answered before its call was over."""
    if request.method == ELICIT:
        return answer(request.id, b'{"action":"cancel"}')
    return failure(request.id, REFUSED, f"{request.method}: the call that it belongs to is over.")


async def _elicited(server: str, params: Mapping[str, Any], hooks: Hooks | None) -> dict[str, Any]:
    message, mode = params.get("message"), params.get("mode", "form")
    kind: Literal["form", "url"] = "url" if mode == "url" else "form"
    if mode not in ("form", "url"):
        raise WireError(INVALID_PARAMS, f"{ELICIT}: `mode` must be form or url.")
    if type(message) is not str or len(message) > _LONGEST:
        raise WireError(INVALID_PARAMS, f"{ELICIT}: `message` must be a text of at most {_LONGEST} characters.")
    if kind == "form" and type(params.get("requestedSchema")) is not dict:
        raise WireError(INVALID_PARAMS, f"{ELICIT}: `requestedSchema` must be an object.")
    if kind == "url" and type(params.get("url")) is not str:
        raise WireError(INVALID_PARAMS, f"{ELICIT}: `url` must be a text.")
    if hooks is None or hooks.ask is None:
        return {"action": "cancel"}  # to decline is a person's decision, and no person has seen this
    given = await hooks.ask(Wanted(server=server, kind=kind, message=message, params=dict(params)))
    if given.action == "accept" and kind == "form":
        return {"action": "accept", "content": given.content or {}}
    return {"action": given.action}


async def _sampled(server: str, params: Mapping[str, Any], hooks: Hooks | None) -> dict[str, Any]:
    if type(params.get("messages")) is not list:
        raise WireError(INVALID_PARAMS, f"{SAMPLE}: `messages` must be a list.")
    if hooks is None or hooks.ask is None:
        raise WireError(REFUSED, f"{SAMPLE}: whoever made this call has no model to ask.")
    message = "The server asks for the answer of a model."
    given = await hooks.ask(Wanted(server=server, kind="sampling", message=message, params=dict(params)))
    if given.action != "accept" or given.content is None:
        raise WireError(REFUSED, f"{SAMPLE}: it was declined.")
    return given.content
