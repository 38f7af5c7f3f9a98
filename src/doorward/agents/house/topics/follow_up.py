"""A request that goes on from the one before it: `and yesterday?`, `what about anna`, `how many of those`, `why?`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.topics.wording import Wording

_LEAD = re.compile(r"^(?:and|or|what about|how about|now|then|only|just|same for|also|but)\b\W*", re.I)
_JOINT = re.compile(r"^(?:for|of|in|by|the|those|them|room)\b\W*", re.IGNORECASE)
_COUNT = re.compile(
    r"^(?:and )?(?:how many|count|number)\b(?: (?:of )?(?:those|them|these|that|were|are|there|was|it))*\W*$", re.I
)
_WHY = re.compile(r"^(?:and )?(?:why|for what reason|what was the reason)\b.{0,20}$", re.I)
_GROUP = re.compile(r"^(?:and |now )?(?:group (?:them|those|it) )?(?:by|per) (?P<field>\w+)\W*$", re.I)
_GROUPED = re.compile(r"\s+(?:by|per) \w+$", re.IGNORECASE)
_AGAIN = frozenset(("same", "again", "look", "happen", "question", "case", "situation", "go"))
"""Stems that only refer to the earlier request."""
_MAX_DEPTH = 3
_MAX_WORDS = 6


def expand(context: RequestContext) -> Iterator[str]:
    """Return texts that say the request in full, with what the earlier request was about."""
    earlier = _earlier(context, _MAX_DEPTH)
    text = context.text.strip()
    if not earlier or len(context.request.meaningful) > _MAX_WORDS:
        return
    if _COUNT.match(text):
        yield f"count {earlier}"
    elif _WHY.match(text):
        yield f"{earlier} why"
    elif found := _GROUP.match(text):
        yield f"{_GROUPED.sub('', earlier.rstrip(' ?.!'))} by {found['field']}"
    else:
        yield from _replaced(context, earlier, text)


def is_elliptic(text: str) -> bool:
    """Whether a request cannot stand alone."""
    return any(one.match(text.strip()) for one in (_LEAD, _COUNT, _WHY, _GROUP))


def _earlier(context: RequestContext, depth: int) -> str:
    """Return the earlier request in full; it may itself go on from another."""
    if not context.earlier:
        return ""
    text = context.earlier[0]
    if depth and is_elliptic(text) and len(context.earlier) > 1:
        before = context.with_text(text, context.earlier[1:])
        return next(iter(expand(before)), text)
    return text


def _replaced(context: RequestContext, earlier: str, text: str) -> Iterator[str]:
    """Put the period or the name of a request into the place of the one in the earlier request."""
    rest = text.strip(" ?.!")
    while found := _LEAD.match(rest) or _JOINT.match(rest):
        rest = rest[found.end() :]
    if not rest:
        return
    before = context.with_text(earlier)
    spans = context.with_text(rest).spans
    again = context.with_text(rest).request
    said_before = {*before.request.stems, *_AGAIN}
    if spans and all(again.stems[one] in said_before for one in again.meaningful - spans[0].places):
        rest = again.between(spans[0].first, spans[0].behind)
        if before.spans:
            old = before.spans[0]
            said = before.request.between(old.first, old.behind)
            yield earlier.replace(said, f" {rest} ", 1)
        else:
            yield f"{earlier.rstrip(' ?.!')} {rest}"
        return
    if not re.fullmatch(r"[\w.@/-]+", rest):
        return
    for take in (Wording.person, Wording.room, Wording.command):
        name = take(Wording(before))
        if name and name != context.conversation.speaker:
            yield re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", rest, earlier, count=1)
