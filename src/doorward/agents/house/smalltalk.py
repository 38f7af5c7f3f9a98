"""Replies that need no call: greetings, help, and requests that are not understood."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

import msgspec

from doorward.agents.house import commands
from doorward.agents.house.plan import Reading, Reply
from doorward.agents.house.request import Request
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import in_a_row, one_line
from doorward.agents.house.words import load, stop_words

_LOOKED_AT = 400
_MOST_WORDS = 2
"""Words that may be left over for a request to be near to what is understood."""

IsUnderstood = Callable[[RequestContext], bool]


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    patterns: tuple[str, ...]
    text: str = ""
    say: Literal["", "help", "hello"] = ""
    kind: Literal["answer", "declined"] = "answer"


class SmallTalk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    suggestions: tuple[str, ...]
    greeting: str
    hello: str
    help: str
    no_commands: str
    how_to_ask: str
    how_else: str
    abilities: dict[str, tuple[str, ...]]
    not_understood: str
    not_understood_near: str
    not_understood_words: str
    not_understood_again: str
    not_english: str
    foreign: tuple[str, ...]
    """Common words of other languages, one language each."""
    replies: tuple[_Answer, ...]


@cache
def texts() -> SmallTalk:
    return load("smalltalk.json", SmallTalk)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], _Answer], ...]:
    return tuple((re.compile(one, re.IGNORECASE), reply) for reply in texts().replies for one in reply.patterns)


def greeting() -> str:
    """Return the first message in a new installation."""
    return texts().greeting.format(suggestions="\n".join(f"- {one}" for one in texts().suggestions))


def find_answer(text: str) -> _Answer | None:
    """Return the answer to small talk; None if the text is none."""
    return next((answer for pattern, answer in _patterns() if pattern.search(text)), None)


def reply(context: RequestContext, is_understood: IsUnderstood) -> Reply | None:
    """Return the reply to small talk; None if it is none. Examples are shown only if they are understood here."""
    answer = find_answer(context.text.strip())
    if answer is None:
        return None
    if answer.say == "help":
        return Reply(_help(context, is_understood))
    if answer.say == "hello":
        asks = _possible(context, texts().suggestions, is_understood)
        lines = "\n".join(f"- {one}" for one in asks)
        return Reply(texts().hello.format(suggestions=lines) if asks else texts().no_commands)
    return Reply(answer.text, answer.kind)


def _help(context: RequestContext, is_understood: IsUnderstood) -> str:
    if not context.tools:
        return texts().no_commands
    shown = {what: _possible(context, asks, is_understood) for what, asks in texts().abilities.items()}
    lines = [f"- {what}: " + ", ".join(f'"{one}"' for one in asks) for what, asks in shown.items() if asks]
    in_room = bool(context.conversation.room)
    return texts().help.format(
        abilities="\n".join(lines),
        where="In this room" if in_room else "Here",
        count=len(context.tools),
        areas=in_a_row(sorted({one.partition("/")[0] for one in context.tools})),
        decides="The room's recipe and my access" if in_room else "Rules and your access",
    )


def _possible(context: RequestContext, asks: Sequence[str], is_understood: IsUnderstood) -> list[str]:
    return [one for one in asks if is_understood(context.with_text(one))]


def did_nothing(why: str, example: str = "") -> str:
    """Say why nothing was done, and how to ask for it."""
    how = texts().how_to_ask.format(ask=example) if example else texts().how_else
    return f"I did nothing: {why}.\n{how}"


def not_understood(context: RequestContext) -> str:
    """Say that a request is not understood; more shortly the second time."""
    if not is_english(context.request):
        return texts().not_english
    if context.conversation.last_answer.startswith("I do not know how to do that"):
        return texts().not_understood_again
    near = commands.nearest(context)
    return texts().not_understood_near.format(near=in_a_row(near, "or")) if near else texts().not_understood


def explain_unknown(context: RequestContext, partial: Sequence[Reading]) -> Reply:
    """Return the reply to a request that no reading explains; `partial` are the nearest, most complete first."""
    request = context.request
    for near in partial[:1] if is_english(request) else ():
        left = sorted(request.meaningful - near.explained)
        most = _MOST_WORDS if near.name.endswith(" records") else 1
        if near.says and not near.depends and 0 < len(left) <= most and len(left) < len(request.meaningful):
            words = in_a_row([f"“{one_line(request.tokens[one].text, 60)}”" for one in left], "and")
            it = "it" if len(left) == 1 else "them"
            return Reply(
                texts().not_understood_words.format(says=one_line(near.says, 120), words=words, it=it), "unknown"
            )
    return Reply(not_understood(context), "unknown")


def is_english(request: Request) -> bool:
    """Whether a text is English, by its small words and its letters. A single name counts as English."""
    letters = [one for one in request.text[:_LOOKED_AT] if one.isalpha()]
    latin = sum(one.isascii() or "LATIN" in unicodedata.name(one, "") for one in letters)
    if letters and latin * 2 < len(letters):
        return False
    words = [one.text.lower() for one in request.tokens[:_LOOKED_AT] if one.kind == "word"]
    ours = sum(one in stop_words() for one in words)
    theirs = max((sum(one in language.split() for one in words) for language in texts().foreign), default=0)
    return theirs < 2 or theirs <= ours
