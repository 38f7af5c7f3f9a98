"""Questions of a server during a call: elicitation (a person answers) and sampling (a model answers).

Up to 2025-11-25 a server sends a request of its own; since 2026-07-28 its result says what input is required. The
questions and the format of the answers are the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from doorward.core.escape_invisible import escape_invisible
from doorward.core.wire.codes import INVALID_PARAMS, METHOD_NOT_FOUND
from doorward.core.wire.frames import WireError, WireRequest, answer, failure
from doorward.upstream.calls import CallHooks, ServerQuestion

if TYPE_CHECKING:
    from doorward.upstream.session import Session

ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"

REFUSED_CODE = -1
"""The error code of a client when a person or an operator rejects sampling."""
_LONGEST = 10_000
"""Length limit of a question, so that people always see all of it."""

_NO_SAMPLING = "sampling is not enabled for this server; the operator of this gateway can enable it"


def client_capabilities(sampling: bool) -> dict[str, Any]:
    """The client capabilities that Doorward declares. There are no roots: operators decide what servers access."""
    told: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
    if sampling:
        told["sampling"] = {}
    return told


async def answer_question(
    session: Session, method: str, params: Mapping[str, Any], hooks: CallHooks | None, sampling: bool
) -> dict[str, Any]:
    """Ask the question and return the result for the server; raises WireError when there is none.

    Secrets that the server was given are masked in the question, in case it repeats them.
    """
    server, params = session.name, session.secret_mask.mask_value(params)
    if method == ELICIT:
        return await _elicit(server, params, hooks)
    if method == SAMPLE:
        if not sampling:
            raise WireError(METHOD_NOT_FOUND, f"{SAMPLE}: {_NO_SAMPLING}.")
        return await _sample(server, params, hooks)
    raise WireError(
        METHOD_NOT_FOUND, f"{escape_invisible(method[:80])}: this client answers only {ELICIT}, {SAMPLE} and ping."
    )


def answer_expired(request: WireRequest) -> bytes:
    """The response to a question that was not answered before its call ended."""
    if request.method == ELICIT:
        return answer(request.id, b'{"action":"cancel"}')
    return failure(request.id, REFUSED_CODE, f"{request.method}: the call it belongs to has ended.")


async def _elicit(server: str, params: Mapping[str, Any], hooks: CallHooks | None) -> dict[str, Any]:
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
        return {"action": "cancel"}  # "decline" is a person's decision, and no person has seen this question
    given = await hooks.ask(ServerQuestion(server=server, kind=kind, message=message, params=dict(params)))
    if given.action == "accept" and kind == "form":
        return {"action": "accept", "content": given.content or {}}
    return {"action": given.action}


async def _sample(server: str, params: Mapping[str, Any], hooks: CallHooks | None) -> dict[str, Any]:
    if type(params.get("messages")) is not list:
        raise WireError(INVALID_PARAMS, f"{SAMPLE}: `messages` must be a list.")
    if hooks is None or hooks.ask is None:
        raise WireError(REFUSED_CODE, f"{SAMPLE}: the caller has no model to ask.")
    message = "The server asks for a model's answer."
    given = await hooks.ask(ServerQuestion(server=server, kind="sampling", message=message, params=dict(params)))
    if given.action != "accept" or given.content is None:
        raise WireError(REFUSED_CODE, f"{SAMPLE}: it was declined.")
    return given.content
