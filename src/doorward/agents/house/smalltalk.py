"""Replies that need no call: greetings, help, and what is not understood."""

from __future__ import annotations

from collections.abc import Sequence

from doorward.agents.house.plan import Reading, Reply
from doorward.agents.house.request_context import RequestContext


def reply(context: RequestContext) -> Reply | None:
    """Return the reply to small talk; None if it is none."""
    return None


def not_understood(context: RequestContext) -> str:
    return "I do not know how to do that: I am the built-in helper, without a language model."


def did_nothing(why: str, example: str = "") -> str:
    return f"I did nothing: {why}."


def explain_unknown(context: RequestContext, partial: Sequence[Reading]) -> Reply:
    """Return the reply to a request that no reading explains; `partial` are the nearest, most complete first."""
    words = [
        context.request.tokens[place].text
        for place in sorted(context.request.meaningful - (partial[0].explained if partial else frozenset()))
    ]
    return Reply(
        "I do not know “"
        + " ".join(words)
        + "” "
        + str(
            [
                (one.says, [context.request.tokens[p].text for p in context.request.meaningful - one.explained])
                for one in partial[:3]
            ]
        ),
        "unknown",
    )


def greeting() -> str:
    return "Hello!"
